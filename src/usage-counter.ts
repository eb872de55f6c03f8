import type { Logger } from 'pino'
import type { GeneratePart } from './inference/engine.ts'
import type { Database } from './storage/database.ts'
import { addUsage, type UsageAddition, type UsageKey } from './storage/usage.ts'

/** Longest time that a count stays in memory only, in milliseconds: a commit for each chat request would cost more than the request's tokens. */
const FLUSH_MS = 1000

/** Takes the parts of one generation as they come. */
export type CountPart = (part: GeneratePart) => void

/**
 * Sums usage in memory and adds it to the database about once a second, when it is asked to, and when it is closed.
 * What cannot be written, as on a full disk, is kept and tried again.
 */
export class UsageCounter {
  readonly #database: Database
  readonly #log: Logger
  #pending = new Map<string, UsageAddition>()
  /** One more with each flush: what was begun before it belongs to the database. */
  #epoch = 0
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()
  #isFailing = false
  #isClosed = false

  constructor({ database, log }: { database: Database; log: Logger }) {
    this.#database = database
    this.#log = log
  }

  /** Begins to count one request, for the day (UTC) on which it comes. */
  open(key: Omit<UsageKey, 'day'>): CountPart {
    const dated = { ...key, day: new Date().toISOString().slice(0, 'YYYY-MM-DD'.length) }
    const { day, entity, project, model, api_key_id } = dated
    const name = JSON.stringify([day, entity, project, model, api_key_id])
    let epoch = -1
    let addition: UsageAddition
    return part => {
      if (part.type === 'finish') return
      // Looked up once in a second, not for each token.
      if (epoch !== this.#epoch) {
        addition = this.#additionOf(name, dated)
        epoch = this.#epoch
      }
      if (part.type === 'delta') addition.completion_tokens += part.tokens.length
      else {
        addition.requests += 1
        addition.prompt_tokens += part.tokenIds.length
        addition.cached_tokens += part.cachedTokens
      }
    }
  }

  /** Writes what was counted until now. Throws what the database failed on; nothing is lost then. */
  flush(): Promise<void> {
    const written = this.#writing.then(() => this.#write())
    this.#writing = written.catch(() => {})
    return written
  }

  /** Writes the last counts. It never throws: what cannot be written now goes to the log. */
  async close(): Promise<void> {
    await this.flush().catch(error =>
      this.#log.error({ error, lost: [...this.#pending.values()] }, 'the last usage could not be written'),
    )
    this.#isClosed = true
    this.#stopTimer()
  }

  #additionOf(name: string, key: UsageKey): UsageAddition {
    const known = this.#pending.get(name)
    if (known) return known
    const addition = { ...key, requests: 0, prompt_tokens: 0, completion_tokens: 0, cached_tokens: 0 }
    this.#pending.set(name, addition)
    if (!this.#timer && !this.#isClosed) this.#timer = setTimeout(() => this.#flushInTime(), FLUSH_MS).unref()
    return addition
  }

  async #write(): Promise<void> {
    this.#stopTimer()
    if (this.#pending.size === 0) return
    const pending = this.#pending
    this.#pending = new Map()
    this.#epoch++
    try {
      await addUsage(this.#database, pending.values())
      this.#isFailing = false
    } catch (error) {
      for (const [name, kept] of pending) {
        const addition = this.#additionOf(name, kept)
        addition.requests += kept.requests
        addition.prompt_tokens += kept.prompt_tokens
        addition.completion_tokens += kept.completion_tokens
        addition.cached_tokens += kept.cached_tokens
      }
      throw error
    }
  }

  #flushInTime(): void {
    this.flush().catch(error => {
      if (!this.#isFailing) this.#log.error({ error }, 'usage could not be written; it is kept and tried again')
      this.#isFailing = true
    })
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}
