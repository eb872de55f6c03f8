import { describe, expect, test } from 'vitest'
import {
  type ConstraintSource,
  ConstraintState,
  compileConstraint,
} from '../../../src/inference/constraint/constraint.ts'
import { ConstraintCache } from '../../../src/inference/constraint/constraint-cache.ts'
import { TokenTrie } from '../../../src/inference/constraint/token-trie.ts'
import { allowedIds, createTestRandom, start, tinyChat, trieOf } from './writer.ts'

describe('masks', () => {
  test('hold the tokens that can begin what is left, and no others', () => {
    const trie = trieOf('y', 'ye', 'yes', 'yes!', 'n', 'no', 'es', 's', 'x')
    const state = start({ kind: 'choice', choices: ['yes', 'no', 'nope'] }, trie)
    expect(allowedIds(state, trie.size)).toEqual([0, 1, 2, 4, 5])
    expect(state.mask().count).toBe(5)
    state.advance(0)
    expect(allowedIds(state, trie.size)).toEqual([6])
  })

  test('are what accepts says of each token', () => {
    const state = start({ kind: 'json_object' }, tinyChat)
    const random = createTestRandom(2)
    for (let count = 0; count < 150; count++) {
      const ids = allowedIds(state, tinyChat.size)
      expect(ids).toEqual(Array.from({ length: tinyChat.size }, (_, id) => id).filter(id => state.accepts(id)))
      expect(state.mask().count).toBe(ids.length)
      if (ids.length === 0) break
      state.advance(ids[Math.floor(random() * ids.length)]!)
    }
  })

  test('are what accepts says where counts reach their bounds', () => {
    const sources: ConstraintSource[] = [
      { kind: 'json_schema', schema: { type: 'string', minLength: 25, maxLength: 40 } },
      { kind: 'regex', pattern: '((the )?[a-z]{2}){18,22}( cat){0,3}' },
    ]
    for (const source of sources) {
      const state = start(source, tinyChat)
      const random = createTestRandom(7)
      for (;;) {
        const ids = allowedIds(state, tinyChat.size)
        expect(ids).toEqual(Array.from({ length: tinyChat.size }, (_, id) => id).filter(id => state.accepts(id)))
        if (ids.length === 0) break
        const short = ids.filter(id => tinyChat.bytes(id).length <= 2)
        const drawn = short.length > 0 ? short : ids
        state.advance(drawn[Math.floor(random() * drawn.length)]!)
      }
      expect(state.isComplete).toBe(true)
    }
  })

  test('do not lead where the text could never end', () => {
    const endless = 'root ::= "a" endless* | "b" endless | "c" [d-f] "" endless\nendless ::= "x" endless'
    const trie = trieOf('a', 'b', 'c', 'd', 'x')
    const state = start({ kind: 'grammar', text: endless }, trie)
    expect(allowedIds(state, trie.size)).toEqual([0])
    state.advance(0)
    expect(state.mustEnd).toBe(true)
  })

  test('let a character begin in one token and end in another', () => {
    const [first, second, third] = Buffer.from('€')
    const pieces = [[first!, second!], [third!], [first!], [second!, third!], [0xff], [third!, 0x21]]
    const trie = new TokenTrie({ bytes: id => Uint8Array.from(pieces[id]!), isSpecial: () => false }, pieces.length)
    const state = start({ kind: 'regex', pattern: '€!?' }, trie)
    expect(allowedIds(state, trie.size)).toEqual([0, 2])
    state.advance(0)
    expect(state.isComplete).toBe(false)
    expect(allowedIds(state, trie.size)).toEqual([1, 5])
    state.advance(1)
    expect(state.isComplete).toBe(true)
  })

  test('never hold special tokens or ids without a token', () => {
    const tokens = ['<end>', '', 'a', 'a']
    const trie = new TokenTrie({ bytes: id => Buffer.from(tokens[id]!), isSpecial: id => id === 0 }, tokens.length)
    const state = start({ kind: 'regex', pattern: '(<end>|a)*' }, trie)
    expect(allowedIds(state, trie.size)).toEqual([2, 3])
    expect(state.accepts(0)).toBe(false)
    expect(state.accepts(1)).toBe(false)
    expect(state.accepts(99)).toBe(false)
  })

  test('are the same for places in the text that tokens cannot tell apart', () => {
    const compiled = compileConstraint({ kind: 'json_schema', schema: { type: 'string', maxLength: 500 } })
    const state = new ConstraintState(compiled, tinyChat)
    const letter = Array.from({ length: tinyChat.size }, (_, id) => id).find(id => tinyChat.bytes(id)[0] === 0x61)!
    state.advance(allowedIds(state, tinyChat.size).find(id => tinyChat.bytes(id).length === 1)!)
    state.advance(letter)
    const { bits } = state.mask()
    for (let count = 0; count < 300; count++) state.advance(letter)
    expect(state.mask().bits).toBe(bits)
    for (let count = 0; count < 195; count++) state.advance(letter)
    expect(state.mask().bits).not.toEqual(bits)
  })

  test('where the vocabulary cannot carry on, it is an error', () => {
    const state = start({ kind: 'choice', choices: ['ab'] }, trieOf('a', 'c'))
    state.advance(0)
    expect(() => state.mask()).toThrow("cannot be carried on with the model's tokens")
  })
})

describe('the end of the text', () => {
  test('may come, and must come', () => {
    const state = start({ kind: 'choice', choices: ['a', 'ab'] }, trieOf('a', 'b'))
    expect([state.isComplete, state.mustEnd]).toEqual([false, false])
    state.advance(0)
    expect([state.isComplete, state.mustEnd]).toEqual([true, false])
    state.advance(1)
    expect([state.isComplete, state.mustEnd]).toEqual([true, true])
    expect(() => state.advance(0)).toThrow('token 0 may not come here')
  })
})

describe('logits', () => {
  const tokens = Array.from({ length: 70 }, (_, id) => String.fromCodePoint(0x100 + id))

  test('of forbidden tokens become -Infinity, others stay', () => {
    const trie = trieOf(...tokens)
    const state = start({ kind: 'choice', choices: [tokens[0]!, tokens[33]!, tokens[69]!] }, trie)
    // padded to more than the vocabulary, as models are
    const logits = Float32Array.from({ length: 80 }, (_, id) => id)
    state.maskLogits(logits, [5, 75])
    expect([...logits.keys()].filter(id => logits[id]! > -Infinity)).toEqual([0, 33, 69])
    state.advance(33)
    const last = Float32Array.from({ length: 80 }, (_, id) => id)
    state.maskLogits(last, [5, 75, 99])
    expect([...last.keys()].filter(id => last[id]! > -Infinity)).toEqual([5, 75])
    expect(last[75]).toBe(75)
  })

  test('of all tokens stay where all are allowed', () => {
    const trie = trieOf(...tokens)
    const state = start({ kind: 'regex', pattern: '[^]*' }, trie)
    const logits = new Float32Array(70).fill(1)
    state.maskLogits(logits, [])
    expect(logits.every(logit => logit === 1)).toBe(true)
  })
})

test('a clone goes its own way', () => {
  const trie = trieOf('a', 'b')
  const state = start({ kind: 'choice', choices: ['ab', 'ba'] }, trie)
  const clone = state.clone()
  state.advance(0)
  clone.advance(1)
  expect(allowedIds(state, 2)).toEqual([1])
  expect(allowedIds(clone, 2)).toEqual([0])
})

test('texts under one rule share what is known of it', () => {
  const compiled = compileConstraint({ kind: 'json_object' })
  const [first, second] = [new ConstraintState(compiled, tinyChat), new ConstraintState(compiled, tinyChat)]
  const beginning = first.mask()
  first.advance(allowedIds(first, tinyChat.size)[0]!)
  first.mask()
  expect(second.mask()).toBe(beginning)
})

test('the cache compiles a rule once, and keeps those used last', () => {
  const cache = new ConstraintCache(2)
  const of = (...choices: string[]) => cache.get({ kind: 'choice', choices })
  const [a, b] = [of('a'), of('b')]
  expect(of('a')).toBe(a)
  of('c')
  expect(of('a')).toBe(a)
  expect(of('b')).not.toBe(b)
  expect(() => cache.get({ kind: 'choice', choices: [] })).toThrow('at least one')
})
