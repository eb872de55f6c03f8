/**
 * Turns generated tokens into text that may be shown: whole characters only, and nothing that may yet become a stop
 * string.
 */

export class TextStream {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #stops: readonly string[]
  readonly #heldBack: number
  #pending = ''
  /** Whether a stop string has come: everything after it is dropped. */
  isStopped = false

  constructor(stops: readonly string[]) {
    this.#stops = stops
    this.#heldBack = Math.max(0, ...stops.map(stop => stop.length - 1))
  }

  /** Text that can be shown now that these bytes have come. */
  push(bytes: Uint8Array): string {
    this.#pending += this.#decoder.decode(bytes, { stream: true })
    const matches = this.#stops.map(stop => this.#pending.indexOf(stop)).filter(index => index >= 0)
    if (matches.length > 0) {
      this.isStopped = true
      return this.#take(Math.min(...matches))
    }
    return this.#take(Math.max(0, this.#pending.length - this.#heldBack))
  }

  /** The text held back, once no more will come; bytes of an unfinished character are dropped. */
  end(): string {
    return this.isStopped ? '' : this.#take(this.#pending.length)
  }

  #take(count: number): string {
    const last = this.#pending.charCodeAt(count - 1)
    const splitsPair = count < this.#pending.length && last >= 0xd800 && last <= 0xdbff
    const text = this.#pending.slice(0, splitsPair ? count - 1 : count)
    this.#pending = this.#pending.slice(text.length)
    return text
  }
}
