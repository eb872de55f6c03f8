/** Beam search: of all ways to go on, the best few sequences are kept; nothing is drawn. */
import { type GeneratedToken, type GeneratePart, PromptError, type Sampling } from '../inference/engine.ts'
import { type End, type EndRules, endOf } from './end-rules.ts'
import { toGeneratedToken } from './generation.ts'
import type { LogitRules } from './logit-rules.ts'
import { largest, normaliserOf } from './logprobs.ts'
import type { NextToken, SequenceGroup } from './sequence-group.ts'
import type { TokenTable } from './token-table.ts'
import { TokenText } from './token-text.ts'

export interface BeamSettings {
  sampling: Sampling
  lengthPenalty: number
  ends: EndRules
  /** Those of a text with nothing generated yet. */
  rules: LogitRules
  tokens: TokenTable
}

interface Beam {
  ids: number[]
  tokens: GeneratedToken[]
  /** Sum of the log-probabilities under the logits that the request's rules leave. */
  logprob: number
  rules: LogitRules
}

interface Candidate {
  parent: number
  token: number
  logprob: number
}

interface Finished {
  tokens: GeneratedToken[]
  score: number
  end: End
}

/** Candidates that are looked at for each beam kept: enough to fill the beams although some end. */
const CANDIDATES_PER_BEAM = 2

export class BeamSearch implements SequenceGroup {
  readonly reservedSlots: number
  readonly #settings: BeamSettings
  readonly #emit: (part: GeneratePart) => void
  #beams: Beam[]
  #finished: Finished[] = []

  constructor(settings: BeamSettings, emit: (part: GeneratePart) => void) {
    this.#settings = settings
    this.#emit = emit
    this.reservedSlots = settings.sampling.n
    this.#beams = [{ ids: [], tokens: [], logprob: 0, rules: settings.rules }]
  }

  /** Throws a PromptError where fewer different sequences are possible than were asked for. */
  advance(logits: readonly Float32Array[]): NextToken[] {
    const { n } = this.#settings.sampling
    const beams: Beam[] = []
    const next: NextToken[] = []
    for (const candidate of this.#candidates(logits)) {
      const { parent, token } = candidate
      const isFull = beams.length === n
      const beam = this.#extend(candidate, logits[parent])
      const end = this.#endOf(beam, this.#beams[parent].rules.isForced)
      if (end) this.#finish(beam, end)
      else if (!isFull) {
        beams.push(beam)
        next.push({ parent, token })
      }
    }
    this.#beams = beams
    if (beams.length > 0 && !this.#isDecided()) return next
    this.#emitBest()
    return []
  }

  /** The best ways to go on from all beams, best first. */
  #candidates(logits: readonly Float32Array[]): Candidate[] {
    const count = CANDIDATES_PER_BEAM * this.#settings.sampling.n
    const candidates = this.#beams.flatMap((beam, parent) => {
      const allowed = beam.rules.apply(logits[parent], beam.ids)
      const normaliser = normaliserOf(allowed)
      return largest(allowed, count)
        .map(token => ({ parent, token, logprob: beam.logprob + allowed[token] - normaliser }))
        .filter(({ logprob }) => logprob > -Infinity)
    })
    return candidates.sort((a, b) => b.logprob - a.logprob).slice(0, count)
  }

  #extend({ parent, token, logprob }: Candidate, logits: Float32Array): Beam {
    const { ids, tokens, rules } = this.#beams[parent]
    const next = rules.clone()
    next.accept(token)
    const shown = toGeneratedToken(this.#settings, logits, token)
    return { ids: [...ids, token], tokens: [...tokens, shown], logprob, rules: next }
  }

  #endOf({ ids, rules }: Beam, isForced: boolean): End | null {
    const { ends, sampling } = this.#settings
    const end = endOf(ends, ids, isForced)
    if (end?.reason === 'stop') return end
    const isStopped = rules.mustStop || (sampling.stop.length > 0 && this.#write(ids, null).isStopped)
    return isStopped ? { reason: 'stop', stopTokenId: null } : end
  }

  #finish({ ids, tokens, logprob }: Beam, end: End): void {
    const score = this.#score(logprob, ids.length)
    this.#finished.push({ tokens, score, end })
    this.#finished.sort((a, b) => b.score - a.score)
    this.#finished.length = Math.min(this.#finished.length, this.#settings.sampling.n)
  }

  #score(logprob: number, length: number): number {
    return logprob / length ** this.#settings.lengthPenalty
  }

  /** Whether no beam can become better than the worst that has finished: a beam's log-probability only falls. */
  #isDecided(): boolean {
    const { sampling, lengthPenalty, ends } = this.#settings
    if (this.#finished.length < sampling.n) return false
    const worst = this.#finished[sampling.n - 1].score
    const length = lengthPenalty > 0 ? ends.maxTokens : this.#beams[0].ids.length + 1
    return this.#beams.every(({ logprob }) => this.#score(logprob, length) <= worst)
  }

  #emitBest(): void {
    const { n } = this.#settings.sampling
    const count = this.#finished.length
    if (count < n) throw new PromptError(['n'], `only ${count} different texts are possible, not ${n}`, 'too_few_beams')
    this.#finished.forEach(({ tokens, end }, index) => {
      const ids = tokens.map(({ id }) => id)
      this.#emit({ type: 'delta', index, text: this.#write(ids, end).text, tokens })
      this.#emit({ type: 'finish', index, ...end })
    })
  }

  #write(ids: readonly number[], end: End | null): { text: string; isStopped: boolean } {
    const { sampling, tokens, ends } = this.#settings
    const writer = new TokenText(sampling, tokens)
    const last = ids.length - 1
    const isEndToken = end?.reason === 'stop' && (end.stopTokenId !== null || ends.eosIds.includes(ids[last]))
    let text = ''
    for (const id of isEndToken ? ids.slice(0, last) : ids) text += writer.push(id)
    return { text: text + (isEndToken ? writer.pushEnd(ids[last]) : writer.end()), isStopped: writer.isStopped }
  }
}
