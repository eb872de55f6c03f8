/** The pace of an engine that gives every stream its next token at the same moment, as one that generates in batches does. */

/** Milliseconds. */
const TICK_MS = 20

let current = Promise.withResolvers<void>()
setInterval(() => {
  const { resolve } = current
  current = Promise.withResolvers<void>()
  resolve()
}, TICK_MS)

export function nextTick(): Promise<void> {
  return current.promise
}
