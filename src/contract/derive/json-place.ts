/** Values within JSON bodies, by the steps that lead to them. Bodies are never changed in place. */

export const REMOVED = Symbol('removed')

/** A copy of the body with another value at the place, or with the property taken away. */
export function replaceAt(body: unknown, at: readonly string[], value: unknown): unknown {
  const [step, ...rest] = at
  if (step === undefined) return value
  if (Array.isArray(body))
    return body.map((item, index) => (String(index) === step ? replaceAt(item, rest, value) : item))
  const copy = { ...(body as Record<string, unknown> | undefined) }
  if (rest.length === 0 && value === REMOVED) delete copy[step]
  else copy[step] = replaceAt(copy[step], rest, value)
  return copy
}

/** The same value with the keys of every object in the opposite order. */
export function reverseKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseKeys)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reverseKeys(inner)]),
  )
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** JSON Schema's name of the type; integers are numbers. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
