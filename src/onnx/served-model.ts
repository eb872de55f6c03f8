/** One base model as the sampler serves it: its graphs, its vocabulary, and what a request makes of them. */
import { type CompiledConstraint, ConstraintState } from '../inference/constraint/constraint.ts'
import { TokenTrie } from '../inference/constraint/token-trie.ts'
import { BeamSearch } from './beam-search.ts'
import { Decoder } from './decoder.ts'
import type { EndRules } from './end-rules.ts'
import { Generation } from './generation.ts'
import { LogitRules, type LogitSettings } from './logit-rules.ts'
import type { SamplerTask } from './sampler-request.ts'
import type { SequenceGroup } from './sequence-group.ts'
import type { SessionSettings } from './session.ts'
import { TokenTable } from './token-table.ts'

export class ServedModel {
  readonly decoder: Decoder
  readonly tokens: TokenTable
  #trie: TokenTrie | null = null

  constructor(folder: string, contextLength: number, settings: SessionSettings) {
    this.decoder = new Decoder(folder, contextLength, settings)
    this.tokens = new TokenTable(folder)
  }

  /** The groups from `first` to `first + count - 1` of a request, each at the beginning of its text. */
  createGroups(
    task: SamplerTask,
    constraint: CompiledConstraint | null,
    first: number,
    count: number,
  ): SequenceGroup[] {
    const { tokens } = this
    const { seed, request, emit } = task
    const { sampling, ids, contextLength, badWords } = request
    const { beam, minTokens, ignoreEos, stopTokenIds, repetitionDetection } = sampling
    const room = contextLength - ids.length
    const maxTokens = Math.min(sampling.maxTokens ?? room, room)
    const { eosIds } = tokens
    const ends: EndRules = { minTokens, maxTokens, ignoreEos, stopTokenIds, repetitionDetection, eosIds }
    const logits: LogitSettings = { sampling, promptIds: ids, badWords, eosIds, isSpecial: id => tokens.isSpecial(id) }
    const createRules = () => new LogitRules(logits, constraint && new ConstraintState(constraint, this.#trieOf()))
    if (beam) {
      const { lengthPenalty } = beam
      return [new BeamSearch({ sampling, lengthPenalty, ends, rules: createRules(), tokens }, emit)]
    }
    return Array.from({ length: count }, (_, offset) => {
      const settings = { index: first + offset, sampling, seed, ends, rules: createRules(), tokens }
      return new Generation(settings, emit)
    })
  }

  #trieOf(): TokenTrie {
    this.#trie ??= new TokenTrie(this.tokens, this.decoder.config.vocabularySize)
    return this.#trie
  }
}
