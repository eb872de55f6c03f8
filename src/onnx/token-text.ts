/** What a choice's tokens show as text: special tokens as the request wants them, and where a stop string ends it. */
import type { Sampling } from '../inference/engine.ts'
import { TextStream } from './text-stream.ts'
import type { TokenTable } from './token-table.ts'

export type TextSettings = Pick<
  Sampling,
  'stop' | 'includeStop' | 'skipSpecialTokens' | 'spacesBetweenSpecialTokens' | 'minTokens'
>

const NOTHING = new Uint8Array()

export class TokenText {
  readonly #settings: TextSettings
  readonly #tokens: TokenTable
  readonly #stream: TextStream
  #count = 0
  /** What was shown last. */
  #last: 'nothing' | 'text' | 'special' = 'nothing'

  constructor(settings: TextSettings, tokens: TokenTable) {
    this.#settings = settings
    this.#tokens = tokens
    this.#stream = new TextStream(settings.stop, settings.includeStop)
  }

  /** Whether a stop string has come. */
  get isStopped(): boolean {
    return this.#stream.isStopped
  }

  /** Text that can be shown now that this token has come. */
  push(id: number): string {
    this.#count += 1
    return this.#stream.push(this.#bytes(id), this.#count > this.#settings.minTokens)
  }

  /** The token that ends the choice: its text stays only where the request says so. Gives all the rest of the text. */
  pushEnd(id: number): string {
    const text = this.#settings.includeStop ? this.push(id) : ''
    return text + this.end()
  }

  /** The text held back, once no more will come. */
  end(): string {
    return this.#stream.end()
  }

  #bytes(id: number): Uint8Array {
    const isSpecial = this.#tokens.isSpecial(id)
    const { skipSpecialTokens, spacesBetweenSpecialTokens } = this.#settings
    if (isSpecial && skipSpecialTokens) return NOTHING
    const bytes = this.#tokens.bytes(id)
    const isApart = spacesBetweenSpecialTokens && (isSpecial ? this.#last !== 'nothing' : this.#last === 'special')
    this.#last = isSpecial ? 'special' : 'text'
    return isApart ? Buffer.concat([Buffer.from(' '), bytes]) : bytes
  }
}
