/** Reading untrusted JSON: each function gives the value with its type, or throws DataError naming the place and the rule. */
import { DataError } from './engine.ts'

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toObject(value: unknown, loc: string[]): JsonObject {
  if (!isObject(value)) throw new DataError(loc, `must be an object, not ${describe(value)}`)
  return value
}

/** Missing and null count as an empty array. */
export function toArray(value: unknown, loc: string[]): unknown[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new DataError(loc, `must be an array, not ${describe(value)}`)
  return value
}

export function toFiniteNumber(value: unknown, loc: string[]): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    throw new DataError(loc, `must be a finite number, not ${describe(value)}`)
  }
  return value
}

/** The value's kind in words, for messages; the value itself may be long or private. */
export function describe(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
