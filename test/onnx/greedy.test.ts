/** tiny-chat against what transformers generates with it; made by goldens/make_greedy.py. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Decoder } from '../../src/onnx/decoder.ts'
import { KvCache } from '../../src/onnx/kv-cache.ts'
import { tokenLogprob } from '../../src/onnx/logprobs.ts'
import { collect, createEngine, idsOf, never, requestOf } from './engine-harness.ts'
import { fixtures, quiet } from './golden.ts'

interface Golden {
  messages: { role: string; content: string }[]
  prompt: number[]
  generated: number[]
  logprobs: number[]
}

const goldens = JSON.parse(readFileSync(join(fixtures, 'tiny-chat-greedy.json'), 'utf8')) as Golden[]
const folder = join(import.meta.dirname, '..', '..', 'generated', 'tiny-chat')
const engine = createEngine({ baseModels: new Map([['tiny-chat', { folder, contextLength: 2048 }]]) })
const generate = (golden: Golden, sampling: object) => {
  const prompt = { messages: golden.messages }
  return collect(engine.generate(requestOf({ model: 'tiny-chat', prompt, sampling }), never))
}

test('greedy generation is that of PyTorch, alone and together', async () => {
  const sampling = { maxTokens: 40, topLogprobs: 0 }
  const expectGolden = ({ prompt, choices }: Awaited<ReturnType<typeof generate>>, golden: Golden) => {
    expect(prompt).toEqual(golden.prompt)
    expect(idsOf(choices[0])).toEqual(golden.generated)
    choices[0]!.tokens.forEach(({ logprob }, index) => {
      // PyTorch turns by angles in float32, which shows in the farther of 400 positions
      expect(Math.abs(logprob - golden.logprobs[index]!)).toBeLessThan(5e-4)
    })
  }
  for (const golden of goldens) expectGolden(await generate(golden, sampling), golden)
  const together = await Promise.all(goldens.map(golden => generate(golden, sampling)))
  goldens.forEach((golden, index) => {
    expectGolden(together[index]!, golden)
  })
})

test('log-probabilities of a prompt that takes several runs have no seams', async () => {
  const golden = goldens.reduce((longest, other) => (other.prompt.length > longest.prompt.length ? other : longest))
  const ids = golden.prompt
  expect(ids.length).toBeGreaterThan(256)
  const { logprobs } = await generate(golden, { maxTokens: 1, promptLogprobs: 1 })
  const decoder = new Decoder(folder, 2048, quiet)
  const cache = new KvCache(decoder.config)
  cache.reserve(1, ids.length)
  const logits = await decoder.extend(cache, 0, [{ done: 0, ids }], null, true)
  const vocabulary = logits.length / ids.length
  for (let place = 1; place < ids.length; place++) {
    const row = logits.subarray((place - 1) * vocabulary, place * vocabulary)
    const expected = tokenLogprob(row, ids[place]!, 0).logprob
    expect(Math.abs(logprobs![place]![0]!.logprob - expected)).toBeLessThan(1e-4)
  }
})
