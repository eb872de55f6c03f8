import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Decoder } from '../../src/onnx/decoder.ts'
import { KvCache } from '../../src/onnx/kv-cache.ts'
import { BLOCK_TOKENS, PrefixCache } from '../../src/onnx/prefix-cache.ts'
import { collect, createEngine, idsOf, never, type RequestOptions, requestOf } from './engine-harness.ts'
import { fixtures, quiet } from './golden.ts'

const text = 'the same long beginning of a prompt, again and again: '
const generate = (engine: ReturnType<typeof createEngine>, options: RequestOptions) =>
  collect(engine.generate(requestOf({ text, sampling: { topLogprobs: 0 }, ...options }), never))

describe('prompts that begin alike', () => {
  test('share what was computed, with the same outcome', async () => {
    const engine = createEngine()
    const without = createEngine({ prefixCacheBytes: 0 })
    const first = await generate(engine, {})
    expect(first.cachedTokens).toBe(0)
    const second = await generate(engine, {})
    expect(second.cachedTokens).toBe(Math.floor((first.prompt.length - 1) / BLOCK_TOKENS) * BLOCK_TOKENS)
    const longer = await generate(engine, { text: `${text}more` })
    expect(longer.cachedTokens).toBeGreaterThan(BLOCK_TOKENS)
    for (const [cached, options] of [
      [second, {}],
      [longer, { text: `${text}more` }],
    ] as const) {
      const plain = await generate(without, options)
      expect(plain.cachedTokens).toBe(0)
      expect(idsOf(cached.choices[0])).toEqual(idsOf(plain.choices[0]))
      plain.choices[0]!.tokens.forEach(({ logprob }, index) => {
        expect(Math.abs(logprob - cached.choices[0]!.tokens[index]!.logprob)).toBeLessThan(1e-4)
      })
    }
    expect((await generate(without, {})).cachedTokens).toBe(0)
  })

  test('share nothing across scopes, models or adapters', async () => {
    const engine = createEngine()
    await generate(engine, {})
    for (const other of [{ cacheScope: 'other' }, { isTuned: true }, { model: 'tiny-qwen2' }]) {
      expect((await generate(engine, other)).cachedTokens).toBe(0)
      expect((await generate(engine, other)).cachedTokens).toBeGreaterThan(0)
    }
    expect((await generate(engine, { text: `x${text}` })).cachedTokens).toBe(0)
  })

  test('are computed whole where the log-probabilities of the prompt are asked for', async () => {
    const engine = createEngine()
    const plain = await generate(engine, { sampling: { promptLogprobs: 0 } })
    const again = await generate(engine, { sampling: { promptLogprobs: 0 } })
    expect(again.cachedTokens).toBe(0)
    expect(again.logprobs).toEqual(plain.logprobs)
  })

  test('a conversation that goes on finds its own answers', async () => {
    const engine = createEngine()
    const sampling = { logitBias: [[120, 100]] as [number, number][], maxTokens: 40 }
    const first = await generate(engine, { text: 'go', sampling })
    const messages = [
      { role: 'user', content: 'go' },
      { role: 'assistant', content: first.choices[0]!.text },
      { role: 'user', content: 'on' },
    ]
    const next = await generate(engine, { prompt: { messages }, sampling: { maxTokens: 1 } })
    expect(next.cachedTokens).toBeGreaterThan(first.prompt.length)
  })
})

test('what was not used for longest is dropped first, beginnings last', async () => {
  const decoder = new Decoder(join(fixtures, 'tiny-llama'), 128, quiet)
  const cache = new KvCache(decoder.config)
  const ids = Array.from({ length: 4 * BLOCK_TOKENS }, (_, index) => index)
  cache.reserve(1, ids.length)
  await decoder.extend(cache, 0, [{ done: 0, ids }], null)
  const blockBytes = cache.read(0, 0, BLOCK_TOKENS).length * 4
  const prefixes = new PrefixCache(3 * blockBytes)
  const other = ids.map(id => id + 1)
  const found = (sequence: number[]) => prefixes.find('[team]', [...sequence, 0]).length
  prefixes.keep('[team]', ids.slice(0, 2 * BLOCK_TOKENS), 2 * BLOCK_TOKENS, cache, 0)
  expect(found(ids)).toBe(2)
  expect(prefixes.find('[other]', ids)).toEqual([])
  // the last token is always computed: its logits are wanted
  expect(prefixes.find('[team]', ids.slice(0, 2 * BLOCK_TOKENS))).toHaveLength(1)
  expect(prefixes.find('[team]', ids)[1]).toEqual(cache.read(0, BLOCK_TOKENS, BLOCK_TOKENS))
  prefixes.keep('[team]', other, 2 * BLOCK_TOKENS, cache, 0)
  expect(found(ids)).toBe(1)
  expect(found(other)).toBe(2)
})
