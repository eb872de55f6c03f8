/** A place in a text that is being parsed, character by character. */
import { ConstraintError } from './constraint-error.ts'

export class TextReader {
  readonly #characters: readonly string[]
  /** Goes with every error. */
  readonly path: readonly string[]
  position = 0

  constructor(text: string, path: readonly string[]) {
    this.#characters = [...text]
    this.path = path
  }

  get isAtEnd(): boolean {
    return this.position >= this.#characters.length
  }

  /** The next character, or one after it; empty at the end. */
  peek(ahead = 0): string {
    return this.#characters[this.position + ahead] ?? ''
  }

  /** Takes the next character; fails at the end, naming what is missing. */
  take(missing: string): string {
    if (this.isAtEnd) this.fail(`ends where ${missing} is missing`)
    return this.#characters[this.position++]
  }

  /** Takes the text if it comes next. */
  takeIf(text: string): boolean {
    const characters = [...text]
    if (!characters.every((character, ahead) => this.peek(ahead) === character)) return false
    this.position += characters.length
    return true
  }

  /** Takes characters as long as they match. */
  takeWhile(pattern: RegExp): string {
    const start = this.position
    while (!this.isAtEnd && pattern.test(this.peek())) this.position += 1
    return this.#characters.slice(start, this.position).join('')
  }

  expect(text: string): void {
    if (!this.takeIf(text)) this.fail(`needs ${text}`)
  }

  /** Throws a ConstraintError that names the place, counted in characters from 1. */
  fail(message: string, at = this.position): never {
    throw new ConstraintError(this.path, `${message} (at character ${at + 1})`)
  }
}
