import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readAdapter } from '../../src/onnx/adapter.ts'
import { Decoder, toAdapterFeeds } from '../../src/onnx/decoder.ts'
import { KvCache } from '../../src/onnx/kv-cache.ts'
import { fixtureModels, fixtures, quiet, readGolden, relativeError } from './golden.ts'

const TOLERANCE = 1e-4
const PROMPT_TOKENS = 12
const VOCABULARY = 264

describe.each(fixtureModels)('%s generates with the logits of PyTorch', model => {
  const folder = join(fixtures, model)
  const golden = readGolden(model)
  const tokens = [...golden.integers('tokens')]
  const expected = (name: string, step: number) =>
    golden.floats(name).subarray(step * VOCABULARY, (step + 1) * VOCABULARY)

  test.each(['logits', 'lora.logits'])('%s of prefill and decode', async name => {
    const decoder = new Decoder(folder, 128, quiet)
    const adapter =
      name === 'logits' ? null : toAdapterFeeds(readAdapter(join(folder, 'adapter'), decoder.config), decoder.config)
    const cache = new KvCache(decoder.config)
    cache.reserve(1, PROMPT_TOKENS)
    const first = await decoder.extend(cache, 0, [{ done: 0, ids: tokens.slice(0, PROMPT_TOKENS) }], adapter)
    expect(relativeError(first, expected(name, 0))).toBeLessThan(TOLERANCE)
    for (let length = PROMPT_TOKENS + 1; length <= tokens.length; length++) {
      cache.reserve(1, length)
      const logits = await decoder.extend(cache, 0, [{ done: length - 1, ids: [tokens[length - 1]!] }], adapter)
      expect(relativeError(logits, expected(name, length - PROMPT_TOKENS))).toBeLessThan(TOLERANCE)
    }
  })

  test('a prompt computed in parts, in a slot of its own, beside longer and shorter sequences', async () => {
    const decoder = new Decoder(folder, 128, quiet)
    const cache = new KvCache(decoder.config)
    cache.reserve(2, 20)
    await decoder.extend(cache, 0, [{ done: 0, ids: [5, 6, 7] }], null)
    await decoder.extend(cache, 1, [{ done: 0, ids: tokens.slice(0, 7) }], null)
    const last = await decoder.extend(cache, 1, [{ done: 7, ids: tokens.slice(7, PROMPT_TOKENS) }], null)
    expect(relativeError(last, expected('logits', 0))).toBeLessThan(TOLERANCE)
    cache.reserve(3, 100)
    await decoder.extend(cache, 2, [{ done: 0, ids: tokens.slice(0, PROMPT_TOKENS + 3) }], null)
    const rows = [
      { done: 3, ids: [8] },
      { done: PROMPT_TOKENS, ids: [tokens[PROMPT_TOKENS]!] },
      { done: PROMPT_TOKENS + 3, ids: [tokens[PROMPT_TOKENS + 3]!] },
    ]
    const logits = await decoder.extend(cache, 0, rows, null)
    expect(relativeError(logits.subarray(VOCABULARY, 2 * VOCABULARY), expected('logits', 1))).toBeLessThan(TOLERANCE)
    expect(relativeError(logits.subarray(2 * VOCABULARY), expected('logits', 4))).toBeLessThan(TOLERANCE)
  })

  test('large models run without adapter in the graph for adapters', async () => {
    const decoder = new Decoder(folder, 128, quiet, 0)
    const cache = new KvCache(decoder.config)
    cache.reserve(1, PROMPT_TOKENS)
    const logits = await decoder.extend(cache, 0, [{ done: 0, ids: tokens.slice(0, PROMPT_TOKENS) }], null)
    expect(relativeError(logits, expected('logits', 0))).toBeLessThan(TOLERANCE)
  })

  test('a copied slot goes on like the original', async () => {
    const decoder = new Decoder(folder, 128, quiet)
    const cache = new KvCache(decoder.config)
    cache.reserve(2, 20)
    await decoder.extend(cache, 1, [{ done: 0, ids: tokens.slice(0, PROMPT_TOKENS) }], null)
    cache.copySlot(1, 0, PROMPT_TOKENS)
    const row = { done: PROMPT_TOKENS, ids: [tokens[PROMPT_TOKENS]!] }
    const logits = await decoder.extend(cache, 0, [row], null)
    expect(relativeError(logits, expected('logits', 1))).toBeLessThan(TOLERANCE)
    const other = new KvCache(decoder.config)
    other.reserve(1, 2 * PROMPT_TOKENS + 100)
    other.copySlot(1, 0, PROMPT_TOKENS, cache)
    const again = await decoder.extend(other, 0, [row], null)
    expect(relativeError(again, expected('logits', 1))).toBeLessThan(TOLERANCE)
  })

  test('prompts of different lengths in one run, with the logits of every token or of the last', async () => {
    const decoder = new Decoder(folder, 128, quiet)
    const rows = [
      { done: 0, ids: tokens.slice(0, PROMPT_TOKENS) },
      { done: 0, ids: [5] },
      { done: 0, ids: tokens.slice(0, PROMPT_TOKENS + 2) },
    ]
    const run = (every: boolean) => {
      const cache = new KvCache(decoder.config)
      cache.reserve(3, 20)
      return decoder.extend(cache, 0, rows, null, every)
    }
    const last = await run(false)
    expect(last).toHaveLength(3 * VOCABULARY)
    expect(relativeError(last.subarray(0, VOCABULARY), expected('logits', 0))).toBeLessThan(TOLERANCE)
    expect(relativeError(last.subarray(2 * VOCABULARY), expected('logits', 2))).toBeLessThan(TOLERANCE)
    const every = await run(true)
    expect(every).toHaveLength((2 * PROMPT_TOKENS + 3) * VOCABULARY)
    for (const step of [0, 1, 2]) {
      const row = 2 * PROMPT_TOKENS + step
      const logits = every.subarray(row * VOCABULARY, (row + 1) * VOCABULARY)
      expect(relativeError(logits, expected('logits', step))).toBeLessThan(TOLERANCE)
    }
  })
})
