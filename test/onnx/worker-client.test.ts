import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { TimeLimitError, WorkerClient } from '../../src/onnx/worker-client.ts'

const file = new URL('./crashing-worker.ts', import.meta.url)
const clients: WorkerClient[] = []
function createClient(idleMs?: number): WorkerClient {
  const client = new WorkerClient(file, { idleMs })
  clients.push(client)
  return client
}
afterAll(() => Promise.all(clients.map(client => client.close())))

test('parts come in order before the result', async () => {
  const parts: number[] = []
  await createClient().call<void, number>('count', 5, { onPart: part => parts.push(part) })
  expect(parts).toEqual([1, 2, 3, 4, 5])
})

test('an error of the method fails its call only', async () => {
  const client = createClient()
  await expect(client.call('refuse', null)).rejects.toMatchObject({ name: 'RangeError', message: 'refused' })
  await expect(client.call('echo', 7)).resolves.toBe(7)
  expect(client.generation).toBe(1)
})

test.each([
  ['crash', /crashing-worker\.ts crashed: out of luck/],
  ['exit', /crashing-worker\.ts ended with code 3/],
])('%s fails what was under way, and the next call gets a new worker', async (method, message) => {
  const client = createClient()
  const waiting = expect(client.call('wait', null)).rejects.toThrow(message)
  await expect(client.call(method, null)).rejects.toThrow(message)
  await waiting
  await expect(client.call('echo', 7)).resolves.toBe(7)
  expect(client.generation).toBe(2)
})

test('a call over its time limit ends the worker', async () => {
  const client = createClient()
  await client.call('echo', 0)
  await expect(client.call('hang', null, { limitMs: 100 })).rejects.toBeInstanceOf(TimeLimitError)
  await expect(client.call('echo', 7)).resolves.toBe(7)
})

test('an abort reaches the method, and the call throws its reason', async () => {
  const client = createClient()
  const controller = new AbortController()
  const waiting = client.call('wait', null, { signal: controller.signal })
  controller.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  await expect(client.call('echo', 1, { signal: controller.signal })).rejects.toThrow('enough')
})

test('an idle worker is ended and started again when needed', async () => {
  const client = createClient(50)
  await client.call('echo', 1)
  await sleep(300)
  await expect(client.call('echo', 2)).resolves.toBe(2)
  expect(client.generation).toBe(2)
})

test('after closing, calls fail', async () => {
  const client = createClient()
  const waiting = expect(client.call('wait', null)).rejects.toThrow('The engine was closed')
  await client.close()
  await waiting
  await expect(client.call('echo', 1)).rejects.toThrow('The engine is closed')
})
