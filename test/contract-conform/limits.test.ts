import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Check } from '../../src/contract/check.ts'
import { createContractClient } from '../../src/contract/client.ts'
import { createCoverage } from '../../src/contract/coverage.ts'
import { createLimits, type LimitOptions, NO_LIMITS } from '../../src/contract/limits.ts'
import { runCheck } from '../../src/contract/run-check.ts'
import { countingFetch } from '../../src/contract/running-check.ts'
import { NOTHING_GIVEN, type Target } from '../../src/contract/target.ts'

let close = () => {}
afterEach(() => close())

/** Answers 200 unless told otherwise; tells when each request came. */
async function serve(answer: (request: IncomingMessage, response: ServerResponse, count: number) => void) {
  const times: number[] = []
  const server = createServer((request, response) => {
    times.push(performance.now())
    answer(request, response, times.length)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, times }
}

const answerHealth = (_: IncomingMessage, response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'a' }).end('{}')

function toCheck(run: () => Promise<void>, timeoutMs = 10_000): Check {
  const fixed = { source: '/info/description#Errors', level: 'MUST', needs: [], isLast: false } as const
  return {
    id: 'a/b',
    ...fixed,
    usesHome: false,
    flow: null,
    lane: null,
    isAlone: false,
    tag: 'a',
    requests: null,
    timeoutMs,
    run,
  }
}

const judge = (run: () => Promise<void>, timeoutMs?: number) => runCheck(toCheck(run, timeoutMs), () => true)

function clientOf(url: string, options: Partial<LimitOptions> = {}) {
  const target: Target = {
    ...{ baseUrl: url, inferenceUrl: `${url}/v1`, apiKey: 'k', secondApiKey: null, basic: 'api:k', baseModel: 'm' },
    ...{ isMock: false, jobTimeoutMs: 1, profile: 'full', project: null, isReadOnly: false, given: NOTHING_GIVEN },
    ...{ mayTrain: true, mayRetry: true, receiver: null },
  }
  const limits = createLimits({ ...NO_LIMITS, ...options })
  return { limits, client: createContractClient(target, createCoverage(), limits.fetch) }
}

describe('the number of requests', () => {
  it('has a limit, at which a check is skipped, whatever it makes of that', async () => {
    const { url, times } = await serve(answerHealth)
    const { client, limits } = clientOf(url, { maxRequests: 3, sentBefore: 1 })
    const result = await judge(async () => {
      for (let count = 0; count < 5; count++)
        await client.call('getHealth').catch(error => {
          throw new Error(`wrapped: ${error.message}`)
        })
    })
    expect(result).toMatchObject({ verdict: 'skip', requests: 2 })
    expect(result.message).toBe('the limit of 3 requests was reached (--max-requests)')
    expect(limits.stopped()).toBe(result.message)
    expect([times.length, limits.sent()]).toEqual([2, 3])
    await limits.clean(() => client.call('getHealth'))
    expect(times.length).toBe(3)
  })

  it('is told for each check, streams that were left included', async () => {
    const { url } = await serve(answerHealth)
    const { requests, writes } = await judge(async () => {
      await countingFetch(url)
      await countingFetch(url, { method: 'HEAD' })
    })
    expect({ requests, writes }).toEqual({ requests: 2, writes: false })
    expect(await judge(async () => void (await countingFetch(url, { method: 'PUT' })))).toMatchObject({ writes: true })
  })
})

describe('the delay', () => {
  it('stands between the beginnings of requests, also of those sent at once, and is not charged to the check', async () => {
    const { url, times } = await serve(answerHealth)
    const { client } = clientOf(url, { delayMs: 60 })
    const begin = performance.now()
    const { verdict } = await judge(async () => {
      await Promise.all([1, 2, 3, 4].map(() => client.call('getHealth')))
    }, 100)
    expect(verdict).toBe('pass')
    // A request may come late, but never before its turn.
    for (const [turn, time] of times.entries()) expect(time - begin).toBeGreaterThan(turn * 60 - 5)
  })
})

describe('a run that only reads', () => {
  it('sends nothing else', async () => {
    const { url, times } = await serve(answerHealth)
    const { client } = clientOf(url, { isReadOnly: true })
    const result = await judge(async () => {
      await client.call('getHealth')
      await client.call('deleteModel', { path: { model_id: '01990c5e-0000-7000-8000-000000000000' } })
    })
    expect(result).toMatchObject({ verdict: 'skip', message: 'nothing may be written (--read-only)' })
    expect(times.length).toBe(1)
  })
})

describe('a stopped run', () => {
  it('sends nothing, for the reason given', async () => {
    const { url, times } = await serve(answerHealth)
    const { client, limits } = clientOf(url)
    limits.stop('it was stopped')
    expect(await judge(async () => void (await client.call('getHealth')))).toMatchObject({
      verdict: 'skip',
      message: 'it was stopped',
    })
    expect(times.length).toBe(0)
  })
})

describe('cleaning up', () => {
  it('begins when the replies are there, and ends what checks send', async () => {
    const { url, times } = await serve((request, response) => {
      setTimeout(() => answerHealth(request, response), 100)
    })
    const { client, limits } = clientOf(url)
    const log: string[] = []
    const leftBehind = (async () => {
      await client.call('getHealth')
      log.push('the first reply')
      await client.call('getHealth')
      log.push('the second reply')
    })().catch(error => log.push((error as Error).message))
    await new Promise(resolve => setTimeout(resolve, 20))
    await limits.clean(async () => {
      log.push('cleaning')
      await client.call('getHealth')
    })
    await leftBehind
    expect(log.toSorted()).toEqual(['cleaning', 'the first reply', 'the run is over'])
    expect(log[2]).not.toBe('the first reply')
    expect(times.length).toBe(2)
  })
})

describe('a deployment that has too much to do', () => {
  const busy = (status: number, retryAfter: string, times: number) =>
    serve((request, response, count) => {
      if (count > times) return answerHealth(request, response)
      response.writeHead(status, { 'retry-after': retryAfter, 'content-type': 'application/json' }).end('{}')
    })

  it('is waited for as it asks, at no cost for the check', async () => {
    const { url, times } = await busy(429, '1', 1)
    const result = await judge(async () => {
      expect((await clientOf(url).client.call('getHealth')).status).toBe(200)
    }, 500)
    expect(result).toMatchObject({ verdict: 'pass', requests: 2 })
    expect(times[1]! - times[0]!).toBeGreaterThan(900)
  })

  it('is asked four times at most', async () => {
    const { url, times } = await busy(503, '0', 9)
    expect((await clientOf(url).client.call('getHealth')).status).toBe(503)
    expect(times.length).toBe(4)
  })

  it.each([
    [429, '3600'],
    [503, 'soon'],
    [500, '0'],
  ])('is not waited for with %d and Retry-After: %s', async (status, retryAfter) => {
    const { url, times } = await busy(status, retryAfter, 9)
    expect((await clientOf(url).client.call('getHealth')).status).toBe(status)
    expect(times.length).toBe(1)
  })

  it('is believed at once where that is what is wanted', async () => {
    const { url, times } = await busy(429, '0', 9)
    await clientOf(url).client.refused('getHealth', 429)
    expect(times.length).toBe(1)
  })
})
