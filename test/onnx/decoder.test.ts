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
    const first = await decoder.prefill(cache, 0, 0, tokens.slice(0, PROMPT_TOKENS), adapter)
    expect(relativeError(first, expected(name, 0))).toBeLessThan(TOLERANCE)
    for (let length = PROMPT_TOKENS + 1; length <= tokens.length; length++) {
      cache.reserve(1, length)
      const logits = await decoder.decode(cache, [length - 1], [tokens[length - 1]!], adapter)
      expect(relativeError(logits, expected(name, length - PROMPT_TOKENS))).toBeLessThan(TOLERANCE)
    }
  })

  test('a prompt computed in parts, in a slot of its own, beside longer and shorter sequences', async () => {
    const decoder = new Decoder(folder, 128, quiet)
    const cache = new KvCache(decoder.config)
    cache.reserve(2, 20)
    await decoder.prefill(cache, 0, 0, [5, 6, 7], null)
    await decoder.prefill(cache, 1, 0, tokens.slice(0, 7), null)
    const last = await decoder.prefill(cache, 1, 7, tokens.slice(7, PROMPT_TOKENS), null)
    expect(relativeError(last, expected('logits', 0))).toBeLessThan(TOLERANCE)
    cache.reserve(3, 100)
    await decoder.prefill(cache, 2, 0, tokens.slice(0, PROMPT_TOKENS + 3), null)
    const logits = await decoder.decode(
      cache,
      [3, PROMPT_TOKENS, PROMPT_TOKENS + 3],
      [8, tokens[PROMPT_TOKENS]!, tokens[PROMPT_TOKENS + 3]!],
      null,
    )
    expect(relativeError(logits.subarray(VOCABULARY, 2 * VOCABULARY), expected('logits', 1))).toBeLessThan(TOLERANCE)
    expect(relativeError(logits.subarray(2 * VOCABULARY), expected('logits', 4))).toBeLessThan(TOLERANCE)
  })

  test('large models run without adapter in the graph for adapters', async () => {
    const decoder = new Decoder(folder, 128, quiet, 0)
    const cache = new KvCache(decoder.config)
    cache.reserve(1, PROMPT_TOKENS)
    const logits = await decoder.prefill(cache, 0, 0, tokens.slice(0, PROMPT_TOKENS), null)
    expect(relativeError(logits, expected('logits', 0))).toBeLessThan(TOLERANCE)
  })

  test('a copied slot goes on like the original', async () => {
    const decoder = new Decoder(folder, 128, quiet)
    const cache = new KvCache(decoder.config)
    cache.reserve(2, 20)
    await decoder.prefill(cache, 1, 0, tokens.slice(0, PROMPT_TOKENS), null)
    cache.copySlot(1, 0)
    const logits = await decoder.decode(cache, [PROMPT_TOKENS], [tokens[PROMPT_TOKENS]!], null)
    expect(relativeError(logits, expected('logits', 1))).toBeLessThan(TOLERANCE)
  })
})
