/** What a reasoning model thinks before it speaks stands between two marks; a reply shows it apart from the content. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface ReasoningMarks {
  open: string
  close: string
  /** Token id of `open`, where it is one token. */
  openId: number | null
  closeId: number | null
}

interface TokenizerConfig {
  chat_template?: unknown
  added_tokens_decoder?: Record<string, { content?: string }>
}

/** The marks that the reasoning models in use write. */
const OPEN = '<think>'
const CLOSE = '</think>'
/** An opening mark this near the end of a prompt, in tokens, was written by the template: no message ends without an end of turn. */
const TAIL_TOKENS = 3

/** The marks of a model folder's chat template or tokenizer, null where neither knows them. */
export function readReasoningMarks(folder: string): ReasoningMarks | null {
  const configFile = join(folder, 'tokenizer_config.json')
  const templateFile = join(folder, 'chat_template.jinja')
  const config = existsSync(configFile) ? readFileSync(configFile, 'utf8') : '{}'
  const template = existsSync(templateFile) ? readFileSync(templateFile, 'utf8') : ''
  if (!config.includes(CLOSE) && !template.includes(CLOSE)) return null
  const added = Object.entries((JSON.parse(config) as TokenizerConfig).added_tokens_decoder ?? {})
  const idOf = (text: string) => {
    const entry = added.find(([, token]) => token.content === text)
    return entry ? Number(entry[0]) : null
  }
  return { open: OPEN, close: CLOSE, openId: idOf(OPEN), closeId: idOf(CLOSE) }
}

/** Whether the prompt's template has opened the reasoning, so that the text goes on within it. */
export function endsInReasoning(marks: ReasoningMarks, promptIds: readonly number[]): boolean {
  if (marks.openId === null) return false
  const tail = promptIds.slice(-TAIL_TOKENS)
  const opened = tail.lastIndexOf(marks.openId)
  return opened >= 0 && (marks.closeId === null || tail.lastIndexOf(marks.closeId) < opened)
}

export interface SplitText {
  reasoning: string
  content: string
}

/**
 * Parts one choice's text, piece by piece, into what stands between the marks and the rest. Reasoning comes first: a mark
 * further on is plain text. A piece that may yet become a mark is held back.
 */
export class ReasoningSplitter {
  readonly #marks: ReasoningMarks
  #state: 'start' | 'reasoning' | 'content'
  #held = ''

  constructor(marks: ReasoningMarks, startsInReasoning: boolean) {
    this.#marks = marks
    this.#state = startsInReasoning ? 'reasoning' : 'start'
  }

  push(text: string): SplitText {
    this.#held += text
    if (this.#state === 'start') this.#begin()
    if (this.#state === 'start') return { reasoning: '', content: '' }
    if (this.#state === 'content') return { reasoning: '', content: this.#take(this.#held.length) }
    const { close } = this.#marks
    const end = this.#held.indexOf(close)
    if (end < 0) return { reasoning: this.#take(this.#held.length - partialLength(this.#held, close)), content: '' }
    const reasoning = this.#take(end)
    this.#take(close.length)
    this.#state = 'content'
    return { reasoning, content: this.#take(this.#held.length) }
  }

  /** What was held back, once no more comes. */
  end(): SplitText {
    const text = this.#take(this.#held.length)
    return this.#state === 'reasoning' ? { reasoning: text, content: '' } : { reasoning: '', content: text }
  }

  /** Leaves the start once it is clear whether the text begins with the opening mark; white space may come before it. */
  #begin(): void {
    const { open } = this.#marks
    const text = this.#held.trimStart()
    if (text.startsWith(open)) {
      this.#held = text.slice(open.length)
      this.#state = 'reasoning'
    } else if (!open.startsWith(text)) this.#state = 'content'
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return taken
  }
}

/** How many characters at the end of the text are a beginning of the mark. */
function partialLength(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length
  }
  return 0
}
