/** Parts that are pushed from one side and iterated on the other. */

export class PartQueue<Part> {
  #parts: Part[] = []
  #outcome: { error?: unknown } | null = null
  #wake: (() => void) | null = null

  push(part: Part): void {
    this.#parts.push(part)
    this.#wake?.()
  }

  /** No more parts come; what was pushed is still delivered. */
  end(): void {
    this.#settle({})
  }

  /** The iteration throws now; what was pushed and not yet taken is dropped. */
  fail(error: unknown): void {
    this.#settle({ error })
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Part, void> {
    while (true) {
      if (this.#outcome && 'error' in this.#outcome) throw this.#outcome.error
      const parts = this.#parts
      this.#parts = []
      yield* parts
      if (this.#parts.length > 0) continue
      if (this.#outcome && !('error' in this.#outcome)) return
      if (!this.#outcome) await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  #settle(outcome: { error?: unknown }): void {
    this.#outcome ??= outcome
    this.#wake?.()
  }
}
