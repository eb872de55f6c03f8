/**
 * What the main thread and a worker say to each other: numbered calls with streamed parts, a result or an error, and
 * aborts.
 */
import { PromptError } from '../inference/engine.ts'
import { DataError } from '../training/engine.ts'

export type ToWorker = { id: number; method: string; argument: unknown } | { abort: number }

export type FromWorker =
  | { id: number; part: unknown }
  | { id: number; result: unknown }
  | { id: number; error: ErrorOnWire }

/** Errors lose their class between threads; these fields bring it back. */
export interface ErrorOnWire {
  name: string
  message: string
  stack?: string
  loc?: string[]
  type?: string
}

export function toErrorOnWire(error: unknown): ErrorOnWire {
  if (error instanceof PromptError)
    return { name: error.name, message: error.message, loc: error.loc, type: error.type }
  if (error instanceof DataError) return { name: error.name, message: error.message, loc: error.loc }
  if (error instanceof Error) return { name: error.name, message: error.message, stack: error.stack }
  return { name: 'Error', message: String(error) }
}

export function fromErrorOnWire({ name, message, stack, loc = [], type = '' }: ErrorOnWire): Error {
  if (name === 'PromptError') return new PromptError(loc, message, type)
  if (name === 'DataError') return new DataError(loc, message)
  const error = new Error(message)
  error.name = name
  if (stack) error.stack = stack
  return error
}
