/** From the parts of a generation to the frames of a stream (facts of the interface: the order and the keys of each frame). */
import { toLogprobs, toUsage } from './chat-logprobs.ts'
import type { ChatChunk, PromptPart, ReplyHead, ReplyOptions } from './chat-types.ts'
import type { GeneratePart } from './engine.ts'
import { endsInReasoning, ReasoningSplitter, type SplitText } from './reasoning.ts'

type ChunkChoice = ChatChunk['choices'][number]
type DeltaPart = Extract<GeneratePart, { type: 'delta' }>
type FinishPart = Extract<GeneratePart, { type: 'finish' }>

/** Throws where the engine does, in the middle too. */
export async function* toChatChunks(
  parts: AsyncIterable<GeneratePart>,
  head: ReplyHead,
  choices: number,
  options: ReplyOptions,
): AsyncGenerator<ChatChunk> {
  let frames: Frames | null = null
  for await (const part of parts) {
    if (part.type === 'prompt') {
      frames = new Frames(part, head, choices, options)
      yield* frames.opening()
      continue
    }
    const chunk = part.type === 'delta' ? frames!.toChunk(part) : frames!.toLastChunk(part)
    if (chunk) yield chunk
  }
  if (options.usageFrame && frames) yield frames.usage()
}

/** The frames of one stream, with what must be remembered from one to the next. */
class Frames {
  readonly #prompt: PromptPart
  readonly #options: ReplyOptions
  readonly #base: Omit<ChatChunk, 'choices'>
  /** Tokens so far, and what holds reasoning apart, by choice. */
  readonly #counts: number[]
  readonly #splitters: ReasoningSplitter[] | null

  constructor(prompt: PromptPart, head: ReplyHead, choices: number, options: ReplyOptions) {
    const { reasoning: marks } = options
    this.#prompt = prompt
    this.#options = options
    this.#base = { ...head, object: 'chat.completion.chunk', system_fingerprint: null }
    this.#counts = new Array<number>(choices).fill(0)
    const isOpen = marks !== null && endsInReasoning(marks, prompt.tokenIds)
    this.#splitters = marks && Array.from({ length: choices }, () => new ReasoningSplitter(marks, isOpen))
  }

  /** The role of each choice, then the text that each begins with. The very first frame has the prompt's ids. */
  *opening(): Generator<ChatChunk> {
    const { role, echo, promptTokenIds } = this.#options
    for (const index of this.#counts.keys()) {
      const frame = this.#frame(index, { delta: { role, content: '' } })
      yield index === 0 ? { ...frame, prompt_token_ids: promptTokenIds ? this.#prompt.tokenIds : null } : frame
    }
    if (echo === '') return
    for (const index of this.#counts.keys()) yield this.#frame(index, { delta: { content: echo } })
  }

  /** Null where the part has nothing to show. */
  toChunk({ index, text, tokens }: DeltaPart): ChatChunk | null {
    const { logprobs, tokenIds, tokensAsIds } = this.#options
    this.#counts[index]! += tokens.length
    const delta = this.#toDelta(this.#splitters ? this.#splitters[index]!.push(text) : { reasoning: '', content: text })
    const showsTokens = tokens.length > 0 && (logprobs || tokenIds)
    if (!delta && !showsTokens) return null
    return this.#frame(index, {
      delta: delta ?? { content: '' },
      logprobs: logprobs && tokens.length > 0 ? toLogprobs(tokens, tokensAsIds) : null,
      token_ids: tokenIds ? tokens.map(token => token.id) : null,
    })
  }

  toLastChunk({ index, reason, stopTokenId }: FinishPart): ChatChunk {
    const rest = this.#splitters ? this.#splitters[index]!.end() : null
    return this.#frame(index, {
      delta: (rest && this.#toDelta(rest)) || { content: '' },
      finish_reason: reason,
      stop_reason: stopTokenId,
      token_ids: this.#options.tokenIds ? [] : null,
    })
  }

  usage(): ChatChunk {
    const total = this.#counts.reduce((sum, count) => sum + count, 0)
    return { ...this.#base, choices: [], usage: toUsage(this.#prompt, total) }
  }

  /** Null where there is no text to show. */
  #toDelta({ reasoning, content }: SplitText): ChunkChoice['delta'] | null {
    const shown = this.#options.showReasoning ? reasoning : ''
    if (shown === '') return content === '' ? null : { content }
    return content === '' ? { reasoning: shown } : { reasoning: shown, content }
  }

  #frame(index: number, choice: Pick<ChunkChoice, 'delta'> & Partial<ChunkChoice>): ChatChunk {
    const { delta, logprobs = null, finish_reason = null, stop_reason = null, token_ids = null } = choice
    const frame = { ...this.#base, choices: [{ index, delta, logprobs, finish_reason, stop_reason, token_ids }] }
    return this.#options.usageInEveryFrame ? { ...frame, usage: toUsage(this.#prompt, this.#counts[index]!) } : frame
  }
}
