import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Sampling } from '../../src/inference/engine.ts'
import type { SamplerPart, SamplerRequest } from '../../src/onnx/sampler-request.ts'
import { Scheduler } from '../../src/onnx/scheduler.ts'
import { fixtures, quiet } from './golden.ts'
import { plainSampling } from './plain-request.ts'

const sampling: Sampling = { ...plainSampling, temperature: 1 }
const settings = { ...quiet, prefixCacheBytes: 0 }

function requestOf(changes: Partial<Sampling> = {}, others: Partial<SamplerRequest> = {}): SamplerRequest {
  const request = { adapter: null, ids: [1, 5, 6, 7], badWords: [], priority: 0, cacheScope: 'team', ...others }
  const folder = join(fixtures, 'tiny-llama')
  return { folder, contextLength: 128, ...request, sampling: { ...sampling, ...changes } }
}

const never = new AbortController().signal

test('an abort stops drawing at once, for all choices', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 4 })
  const controller = new AbortController()
  const parts: SamplerPart[] = []
  const generating = scheduler.generate(requestOf({ n: 3 }), controller.signal, part => {
    parts.push(part)
    if (parts.length === 7) controller.abort(new Error('enough'))
  })
  await expect(generating).rejects.toThrow('enough')
  // whoever waited comes next, and nothing of the aborted request in between
  await scheduler.generate(requestOf({ maxTokens: 3 }), never, () => {})
  expect(parts).toHaveLength(7)
})

test('an aborted request that still waits never starts', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 1 })
  const controller = new AbortController()
  const parts: SamplerPart[] = []
  const running = scheduler.generate(requestOf({ maxTokens: 20 }), never, () => {})
  const waiting = scheduler.generate(requestOf(), controller.signal, part => parts.push(part))
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await running
  expect(parts).toEqual([])
})

test('no more choices run at once than the batch holds, first come first served', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 2 })
  const order: number[] = []
  const start = (number: number, n: number) =>
    scheduler.generate(requestOf({ n, maxTokens: 2 + number }), never, part => {
      if (part.type === 'finish') order.push(number)
    })
  await Promise.all([start(0, 2), start(1, 1), start(2, 3)])
  expect(order).toEqual([0, 0, 1, 2, 2, 2])
})

test('an adapter that cannot be read fails its request only', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 2 })
  const broken = { ...requestOf(), adapter: { id: 'a', folder: fixtures } }
  const results = await Promise.allSettled([
    scheduler.generate(broken, never, () => {}),
    scheduler.generate(requestOf({ maxTokens: 2 }), never, () => {}),
  ])
  expect(results).toMatchObject([
    { status: 'rejected', reason: { message: expect.stringContaining('adapter_config.json') } },
    { status: 'fulfilled' },
  ])
})

test('who waits with a lower priority goes first, and of the same who came first', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 1 })
  const order: number[] = []
  const start = (number: number, priority: number) =>
    scheduler.generate(requestOf({ maxTokens: 2 }, { priority }), never, part => {
      if (part.type === 'prompt') order.push(number)
    })
  await Promise.all([start(0, 5), start(1, 3), start(2, 0), start(3, 3), start(4, -1), start(5, 0)])
  // the first one had begun before the others came
  expect(order).toEqual([0, 4, 2, 5, 1, 3])
})

test('beams wait until there is room for all of them', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 4 })
  const order: string[] = []
  const start = (name: string, changes: Partial<Sampling>) =>
    scheduler.generate(requestOf(changes), never, part => {
      if (part.type === 'prompt') order.push(`${name} begins`)
      if (part.type === 'finish' && part.index === 0) order.push(`${name} ends`)
    })
  await Promise.all([
    start('draw', { maxTokens: 5 }),
    start('beams', { n: 4, beam: { lengthPenalty: 1 }, maxTokens: 5 }),
    start('next', { maxTokens: 5 }),
  ])
  expect(order).toEqual(['draw begins', 'draw ends', 'beams begins', 'beams ends', 'next begins', 'next ends'])
})

test('a request that fails on its way leaves the others of its batch alone', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 8 })
  // the second token of each choice finds nothing left
  const dead = { allowedTokenIds: [5], n: 3 }
  const badWords = [[5, 5]]
  const results = await Promise.allSettled([
    scheduler.generate(requestOf({ maxTokens: 6 }), never, () => {}),
    scheduler.generate(requestOf(dead, { badWords }), never, () => {}),
    scheduler.generate(requestOf({ maxTokens: 9, n: 2 }), never, () => {}),
  ])
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { type: 'no_token_left' } },
    { status: 'fulfilled' },
  ])
})

test('a long prompt is computed between the tokens of others', async () => {
  const scheduler = new Scheduler({ ...settings, maxBatch: 4 })
  const order: string[] = []
  const folder = join(import.meta.dirname, '..', '..', 'generated', 'tiny-chat')
  const ids = Array.from({ length: 1200 }, (_, index) => 10 + (index % 500))
  const others = { folder, contextLength: 2048 }
  const record = (name: string) => (part: SamplerPart) => order.push(`${name} ${part.type}`)
  await Promise.all([
    scheduler.generate(requestOf({ maxTokens: 8, ignoreEos: true }, others), never, record('short')),
    scheduler.generate(requestOf({ maxTokens: 1 }, { ...others, ids }), never, record('long')),
  ])
  const before = order.slice(0, order.indexOf('long prompt')).filter(entry => entry === 'short delta')
  // a run for the short prompt, then five for the long one with a token between each
  expect(before.length).toBeGreaterThanOrEqual(5)
})
