import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { GeneratePart, Sampling } from '../../src/inference/engine.ts'
import { type SamplerRequest, Scheduler } from '../../src/onnx/scheduler.ts'
import { fixtures, quiet } from './golden.ts'

const sampling: Sampling = {
  maxTokens: null,
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 1,
  n: 1,
  stop: [],
  topLogprobs: null,
}

function requestOf(changes: Partial<Sampling> = {}): SamplerRequest {
  const folder = join(fixtures, 'tiny-llama')
  return { folder, contextLength: 128, adapter: null, ids: [1, 5, 6, 7], sampling: { ...sampling, ...changes } }
}

const never = new AbortController().signal

test('an abort stops drawing at once, for all choices', async () => {
  const scheduler = new Scheduler(quiet, 4)
  const controller = new AbortController()
  const parts: GeneratePart[] = []
  const generating = scheduler.generate(requestOf({ n: 3 }), controller.signal, part => {
    parts.push(part)
    if (parts.length === 6) controller.abort(new Error('enough'))
  })
  await expect(generating).rejects.toThrow('enough')
  // whoever waited comes next, and nothing of the aborted request in between
  await scheduler.generate(requestOf({ maxTokens: 3 }), never, () => {})
  expect(parts).toHaveLength(6)
})

test('an aborted request that still waits never starts', async () => {
  const scheduler = new Scheduler(quiet, 1)
  const controller = new AbortController()
  const parts: GeneratePart[] = []
  const running = scheduler.generate(requestOf({ maxTokens: 20 }), never, () => {})
  const waiting = scheduler.generate(requestOf(), controller.signal, part => parts.push(part))
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await running
  expect(parts).toEqual([])
})

test('no more choices run at once than the batch holds, first come first served', async () => {
  const scheduler = new Scheduler(quiet, 2)
  const order: number[] = []
  const start = (number: number, n: number) =>
    scheduler.generate(requestOf({ n, maxTokens: 2 + number }), never, part => {
      if (part.type === 'finish') order.push(number)
    })
  await Promise.all([start(0, 2), start(1, 1), start(2, 3)])
  expect(order).toEqual([0, 0, 1, 2, 2, 2])
})

test('an adapter that cannot be read fails its request only', async () => {
  const scheduler = new Scheduler(quiet, 2)
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
