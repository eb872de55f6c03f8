import { describe, expect, test } from 'vitest'
import { ConstraintState, compileConstraint } from '../../src/inference/constraint/constraint.ts'
import { TokenTrie } from '../../src/inference/constraint/token-trie.ts'
import type { Sampling } from '../../src/inference/engine.ts'
import { LogitRules } from '../../src/onnx/logit-rules.ts'
import { plainSampling } from './plain-request.ts'

/** Tokens 0 to 9 are the letters a to j, 10 ends a turn, 11 is another special token. */
const vocabulary = {
  bytes: (id: number) => Buffer.from(id < 10 ? 'abcdefghij'[id]! : `<${id}>`),
  isSpecial: (id: number) => id >= 10,
}
const trie = new TokenTrie(vocabulary, 12)
const EOS = 10
const logits = Float32Array.from({ length: 12 }, (_, id) => id / 10)

function rulesOf(changes: Partial<Sampling>, badWords: number[][] = [], choices?: string[]): LogitRules {
  const settings = {
    sampling: { ...plainSampling, ...changes },
    promptIds: [0],
    badWords,
    eosIds: [EOS],
    isSpecial: vocabulary.isSpecial,
  }
  const constraint = choices && new ConstraintState(compileConstraint({ kind: 'choice', choices }), trie)
  return new LogitRules(settings, constraint ?? null)
}

/** The ids that may come after these. */
function allowed(rules: LogitRules, generated: number[] = []): number[] {
  const applied = rules.apply(logits, generated)
  return [...applied.keys()].filter(id => applied[id] !== -Infinity)
}

function after(rules: LogitRules, generated: number[]): LogitRules {
  for (const id of generated) rules.accept(id)
  return rules
}

test('without any rule the logits pass as they are', () => {
  expect(rulesOf({}).apply(logits, [])).toBe(logits)
})

test('the logits given are never changed', () => {
  const before = [...logits]
  rulesOf({ logitBias: [[1, 5]], allowedTokenIds: [1, 2], minTokens: 2 }, [[1]], ['b', 'c']).apply(logits, [])
  expect([...logits]).toEqual(before)
})

describe('bad words', () => {
  test('are blocked at the token that would complete them', () => {
    const rules = rulesOf({}, [[1], [2, 3], [4, 4, 4]])
    expect(allowed(rules, [])).not.toContain(1)
    expect(allowed(rules, [])).toContain(3)
    expect(allowed(rules, [2])).not.toContain(3)
    expect(allowed(rules, [2, 5])).toContain(3)
    expect(allowed(rules, [4])).toContain(4)
    expect(allowed(rules, [5, 4, 4])).not.toContain(4)
  })
})

describe('the least number of tokens', () => {
  test('holds back the end of the turn and stop tokens', () => {
    const rules = rulesOf({ minTokens: 2, stopTokenIds: [3] })
    expect(allowed(rules)).not.toContain(EOS)
    expect(allowed(after(rules, [1]))).not.toContain(3)
    expect(allowed(after(rules, [1]))).toEqual(expect.arrayContaining([3, EOS]))
  })

  test('leaves an end of turn that is ignored alone', () => {
    expect(allowed(rulesOf({ minTokens: 2, ignoreEos: true }))).toContain(EOS)
  })
})

describe('a constraint', () => {
  test('leaves what it allows, and the end where it is complete', () => {
    const rules = rulesOf({}, [], ['a', 'ab', 'cd'])
    expect(allowed(rules)).toEqual([0, 2])
    expect(allowed(after(rules, [0]))).toEqual([1, EOS])
    expect(rules.isForced).toBe(false)
    expect(allowed(after(rules, [1]))).toEqual([EOS])
    expect(rules.isForced).toBe(true)
  })

  test('whose text is whole forces the end against every other rule', () => {
    const changes = { minTokens: 9, ignoreEos: true, allowedTokenIds: [2, 3] }
    const rules = after(rulesOf(changes, [[EOS]], ['cd']), [2, 3])
    expect(allowed(rules)).toEqual([EOS])
  })

  test('may go on rather than end where ends are ignored or come too early', () => {
    expect(allowed(after(rulesOf({ ignoreEos: true }, [], ['a', 'ab']), [0]))).toEqual([1])
    expect(allowed(after(rulesOf({ minTokens: 2 }, [], ['a', 'ab']), [0]))).toEqual([1])
  })

  test('ends with a special stop token too', () => {
    expect(allowed(after(rulesOf({ stopTokenIds: [11] }, [], ['a']), [0]))).toEqual([EOS, 11])
  })

  test('of a clone goes its own way', () => {
    const rules = rulesOf({ frequencyPenalty: 1 }, [], ['ab', 'cd'])
    const clone = rules.clone()
    rules.accept(0)
    clone.accept(2)
    expect(allowed(rules)).toEqual([1])
    expect(allowed(clone)).toEqual([3])
  })
})

test('rules that leave nothing are named', () => {
  const catchError = (work: () => unknown) => {
    try {
      return work()
    } catch (error) {
      return error
    }
  }
  const rules = rulesOf({ allowedTokenIds: [1] }, [[1]], ['b', 'c'])
  expect(catchError(() => rules.apply(logits, []))).toMatchObject({
    name: 'PromptError',
    type: 'no_token_left',
    loc: ['constraint'],
    message: expect.stringContaining('constraint, allowed_token_ids, bad_words'),
  })
  expect(catchError(() => rulesOf({ allowedTokenIds: [EOS], minTokens: 1 }).apply(logits, []))).toMatchObject({
    message: expect.stringContaining('allowed_token_ids, min_tokens'),
  })
})
