import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { toRequest } from './connection.ts'
import { measureDelays, measureRate, quantile } from './load.ts'
import { toTable } from './table.ts'
import { type Comparison, median, runTrial, toResult } from './trial.ts'

const comparison: Comparison = { what: 'chats', unit: '/s', ours: 'ours', peer: 'peer', target: { atLeast: 0.5 } }

describe('a trial', () => {
  test('measures in turns, every other round in reverse, and does not count the first', async () => {
    const order: string[] = []
    const figures = { ours: [1000, 4, 6, 5], peer: [1, 10, 10, 10] }
    const contestant = (name: 'ours' | 'peer') => async () => {
      order.push(name)
      return figures[name].shift()!
    }
    const trial = {
      contestants: { ours: contestant('ours'), peer: contestant('peer') },
      comparisons: [comparison],
      close: async () => {},
    }
    const [result] = await runTrial(trial, 3, () => {})
    expect(order).toEqual(['ours', 'peer', 'peer', 'ours', 'ours', 'peer', 'peer', 'ours'])
    expect(result).toMatchObject({ oursMedian: 5, peerMedian: 10, ratio: 0.5, met: true })
  })

  test('compares figures of the same round, so that a slow minute does not count', () => {
    const figures = new Map([
      ['ours', [60, 6, 60]],
      ['peer', [100, 10, 50]],
    ])
    expect(toResult(comparison, figures).ratio).toBe(0.6)
    expect(toResult({ ...comparison, target: { atLeast: 0.61 } }, figures).met).toBe(false)
    expect(toResult({ ...comparison, target: { atMost: 0.6 } }, figures).met).toBe(true)
    expect(toResult({ ...comparison, target: { atMost: 0.59 } }, figures).met).toBe(false)
  })

  test('takes the mean of the two middle values of an even number', () => {
    expect(median([4, 1, 3, 100])).toBe(3.5)
    expect(median([2, 1, 100])).toBe(2)
  })

  test('shows each result with its target, and whether it is met', () => {
    const table = toTable([{ ...comparison, oursMedian: 12_345, peerMedian: 1.2345, ratio: 0.4, met: false }])
    expect(table).toMatch(/chats +12,345 \/s +1\.23 \/s \(peer\) +0\.400 +at least 0\.5 +.*missed/)
  })
})

describe('the load', () => {
  let server: Server | null = null
  afterEach(() => server?.close())

  async function serve(answer: (count: number) => Promise<{ status: number; body: string }>): Promise<string> {
    let count = 0
    server = createServer(async (_request, response) => {
      const { status, body } = await answer(++count)
      response.writeHead(status, { 'content-length': Buffer.byteLength(body) }).end(body)
    })
    await new Promise<void>(resolve => server!.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  test('sends as many requests as asked for, over replies larger than one packet', async () => {
    let served = 0
    const url = await serve(async count => {
      served = count
      return { status: 200, body: 'é'.repeat(200_000) }
    })
    expect(await measureRate(url, toRequest('GET', url), { connections: 4, requests: 25 })).toBeGreaterThan(0)
    expect(served).toBe(25)
  })

  test('does not count answers of a server that fails', async () => {
    const url = await serve(async count => ({ status: count === 5 ? 500 : 200, body: '' }))
    const load = measureRate(url, toRequest('GET', url), { connections: 2, requests: 10 })
    await expect(load).rejects.toThrow('answered 500')
  })

  test('at a fixed pace counts every request that a standstill delays', async () => {
    const standstill = { from: 0, ms: 300 }
    const url = await serve(async count => {
      if (count === 10) standstill.from = performance.now()
      const left = standstill.from === 0 ? 0 : standstill.from + standstill.ms - performance.now()
      if (left > 0) await sleep(left)
      return { status: 200, body: '' }
    })
    const delays = await measureDelays(url, toRequest('GET', url), 100, sleep(1000))
    expect(delays.length).toBeGreaterThan(80)
    // About 30 of 100 came in the standstill and waited for its end.
    expect(quantile(delays, 0.8)).toBeGreaterThan(50)
    expect(quantile(delays, 0.99)).toBeGreaterThan(200)
  })
})
