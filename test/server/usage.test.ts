import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { BusyError, type GeneratedToken, type GeneratePart, type InferenceEngine } from '../../src/inference/engine.ts'
import { addUsage } from '../../src/storage/usage.ts'
import { noOpInference } from '../no-op-engine.ts'
import { createGatedInference } from './gated-engine.ts'
import { createModel, FIRST_KEY, startTestServer, type TestServer, until } from './start.ts'

const CHAT = '/v1/chat/completions'
const USAGE = '/v1/preview/usage'
const messages = [{ role: 'user', content: 'hi' }]
const TOKEN: GeneratedToken = { id: 4, token: 'a', bytes: [97], logprob: -1, top: [] }

/** What one request to the counting engine costs, by number of choices. */
const costOf = (n: number) => ({ requests: 1, prompt_tokens: 5, completion_tokens: 3 * n, cached_tokens: 2 })

/** Five prompt tokens, two of them cached; three tokens for each choice. It fails midway where the prompt says so. */
const countingEngine: InferenceEngine = {
  ...noOpInference,
  async *generate({ sampling, prompt }): AsyncGenerator<GeneratePart> {
    const content = prompt.messages[0]?.content
    if (content === 'busy') throw new BusyError('full')
    yield { type: 'prompt', tokenIds: [1, 2, 3, 4, 5], cachedTokens: 2, logprobs: null }
    for (let index = 0; index < sampling.n; index++) {
      yield { type: 'delta', index, text: 'a', tokens: [TOKEN, TOKEN] }
      if (content === 'broken') throw new Error('broken')
      yield { type: 'delta', index, text: '', tokens: [TOKEN] }
      yield { type: 'finish', index, reason: 'stop', stopTokenId: null }
    }
  },
}

let server: TestServer
beforeEach(async () => {
  server = await startTestServer({ parts: { inference: countingEngine } })
})
afterEach(async () => {
  vi.useRealTimers()
  await server.close()
})

async function readUsage(query = '', key = FIRST_KEY) {
  const reply = await server.call(`${USAGE}?${query}`, { key })
  expect(reply.status).toBe(200)
  return reply.body.data as Record<string, unknown>[]
}

async function chat(more: object = {}, headers: Record<string, string> = {}, key = FIRST_KEY, status = 200) {
  const reply = await server.call(CHAT, { json: { messages, ...more }, headers, key })
  expect(reply.status).toBe(status)
  return reply
}

const today = () => new Date().toISOString().slice(0, 10)

describe('a completion counts', () => {
  test.each([
    ['as JSON', {}, 1],
    ['as a stream', { stream: true }, 1],
    ['as several choices', { n: 3 }, 3],
    ['as a stream of several choices', { n: 2, stream: true }, 2],
  ])('%s, as its own usage says', async (_, more, n) => {
    expect(await readUsage()).toEqual([])
    const { body } = await chat(more)
    if (body) expect(body.usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 3 * n })
    const [line, ...others] = await readUsage()
    expect(others).toEqual([])
    expect(line).toEqual({
      id: expect.any(String),
      day: today(),
      entity: 'default',
      project: null,
      model: 'tiny-chat',
      api_key_id: expect.any(String),
      ...costOf(n),
    })
  })

  test('in one line with those before it, under either path', async () => {
    await Promise.all([chat(), chat(), chat({ model: 'tiny-chat' })])
    const [{ id }] = (await readUsage()) as [{ id: string }]
    await server.call(`${CHAT}/`, { json: { messages } })
    expect(await readUsage()).toMatchObject([
      { id, requests: 4, prompt_tokens: 20, completion_tokens: 12, cached_tokens: 8 },
    ])
  })

  test('for what was generated before it failed', async () => {
    const broken = { messages: [{ role: 'user', content: 'broken' }] }
    await chat(broken, {}, FIRST_KEY, 500)
    await chat({ ...broken, stream: true })
    expect(await readUsage()).toMatchObject([{ requests: 2, prompt_tokens: 10, completion_tokens: 4 }])
  })

  test('not when it was refused', async () => {
    await chat({ temperature: -1 }, {}, FIRST_KEY, 422)
    await chat({ max_tokens: 2046 }, {}, FIRST_KEY, 422)
    await chat({ model: 'none' }, {}, FIRST_KEY, 404)
    await chat({}, { 'vendor-project': 'elsewhere/p' }, FIRST_KEY, 403)
    await chat({}, {}, 'no-such-key', 401)
    await chat({ messages: [{ role: 'user', content: 'busy' }] }, {}, FIRST_KEY, 429)
    expect(await readUsage()).toEqual([])
  })
})

test('a stream counts while it runs, and what it generated when its client leaves', async () => {
  const { engine, generations } = createGatedInference()
  await server.close()
  server = await startTestServer({ parts: { inference: engine } })
  const leave = new AbortController()
  const response = await fetch(`${server.url}${CHAT}`, {
    method: 'POST',
    body: JSON.stringify({ messages, stream: true }),
    headers: { authorization: `Bearer ${FIRST_KEY}`, 'content-type': 'application/json' },
    signal: leave.signal,
  })
  const expectCount = (completion_tokens: number) =>
    until(readUsage, ([line]) => line?.completion_tokens === completion_tokens, 5000)
  await expectCount(0)
  generations[0]!.push({ type: 'delta', index: 0, text: 'a', tokens: [TOKEN, TOKEN] })
  await expectCount(2)
  generations[0]!.push({ type: 'delta', index: 0, text: 'a', tokens: [TOKEN] })
  await expectCount(3)
  leave.abort()
  await until(() => generations[0]!.signal.aborted, Boolean)
  await response.text().catch(() => {})
  expect(await readUsage()).toMatchObject([{ requests: 1, prompt_tokens: 3, completion_tokens: 3 }])
})

describe('a line is for', () => {
  test('one key', async () => {
    const ann = await server.addKey('ann', 'default')
    for (const key of [FIRST_KEY, ann, ann]) await chat({}, {}, key)
    const lines = await readUsage()
    expect(lines.map(line => line.requests)).toEqual([1, 2])
    expect(new Set(lines.map(line => line.api_key_id)).size).toBe(2)
    expect(await readUsage('', ann), 'a member sees the whole team').toEqual(lines)
  })

  test('one team and project, as the project header names them', async () => {
    const key = await server.addKey('admin', 'research')
    await chat({}, {}, key)
    for (const [name, value] of [
      ['vendor-project', 'default/a'],
      ['openai-project', 'research/a'],
      ['openai-project', 'proj_123'],
      ['openai-project', 'elsewhere/p/q'],
    ] as const)
      await chat({}, { [name]: value }, key)
    await chat({}, { 'vendor-project': 'default/b', 'openai-project': 'research/b' }, key)
    const lines = await readUsage('order=asc', key)
    expect(lines.map(({ entity, project, requests }) => [entity, project, requests])).toEqual([
      ['research', null, 3],
      ['default', 'a', 1],
      ['research', 'a', 1],
      ['default', 'b', 1],
    ])
    expect(await readUsage('entity=research', key)).toEqual(lines.filter(({ entity }) => entity === 'research'))
    expect(await readUsage('project=a', key)).toEqual(lines.filter(({ project }) => project === 'a'))
    expect(await readUsage('entity=default&project=b', key)).toMatchObject([{ entity: 'default', project: 'b' }])
  })

  test('one model, all forms of its URI and all its checkpoints together', async () => {
    await createModel(server, 'm')
    const uri = 'artifact:///default/tests/m'
    for (const model of [null, uri, `${uri}:step0`, `${uri}:latest`, 'wandb-artifact://default/tests/m:v0']) {
      await chat({ model })
    }
    const lines = await readUsage()
    expect(lines.map(({ model, requests }) => [model, requests])).toEqual([
      ['tiny-chat', 1],
      [uri, 4],
    ])
    for (const model of [uri, `${uri}:step0`, 'wandb-artifact:///default/tests/m']) {
      expect(await readUsage(`model=${encodeURIComponent(model)}`)).toMatchObject([{ model: uri }])
    }
    expect(await readUsage('model=tiny-chat')).toMatchObject([{ model: 'tiny-chat' }])
    expect(await readUsage('model=none')).toEqual([])
  })

  test('the day, in UTC, on which the request came', async () => {
    const { engine, generations } = createGatedInference()
    await server.close()
    server = await startTestServer({ parts: { inference: engine } })
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-12-31T23:59:59.900Z') })
    const late = chat()
    await until(
      () => generations.length,
      count => count === 1,
    )
    vi.setSystemTime(new Date('2027-01-01T00:00:00.100Z'))
    const early = chat()
    await until(
      () => generations.length,
      count => count === 2,
    )
    generations[0]!.push({ type: 'delta', index: 0, text: 'a', tokens: [TOKEN] })
    for (const { end } of generations) end()
    await Promise.all([late, early])
    expect(await readUsage('limit=1&order=asc')).toMatchObject([{ day: '2026-12-31', completion_tokens: 1 }])
    expect(await readUsage('from=2027-01-01')).toMatchObject([{ day: '2027-01-01', completion_tokens: 0 }])
    expect(await readUsage('to=2026-12-31')).toMatchObject([{ day: '2026-12-31' }])
    expect(await readUsage('from=2026-12-31&to=2027-01-01')).toHaveLength(2)
    expect(await readUsage('from=2027-01-02')).toEqual([])
  })
})

describe('who asks', () => {
  test('sees the own teams only, and names no other', async () => {
    const stranger = await server.addKey('eve', 'elsewhere', 'admin')
    await chat()
    await chat({}, {}, stranger)
    expect(await readUsage()).toMatchObject([{ entity: 'default' }])
    expect(await readUsage('', stranger)).toMatchObject([{ entity: 'elsewhere' }])
    for (const entity of ['default', 'no-such-team']) {
      const reply = await server.call(`${USAGE}?entity=${entity}`, { key: stranger })
      expect([reply.status, reply.body.error.code]).toEqual([403, 'not_a_member'])
    }
  })

  test.each([
    ['from=2026-02-30', 'from'],
    ['to=2026-1-1', 'to'],
    ['from=2026-01-01T00:00:00Z', 'from'],
    ['from=', 'from'],
    ['from=2026-01-02&to=2026-01-01', 'from'],
    ['from=2026-01-01&from=2026-01-02', 'from'],
    ['entity=a/b', 'entity'],
    ['project=', 'project'],
    ['model=', 'model'],
  ])('with %s gets a 422 that names the parameter', async (query, name) => {
    const reply = await server.call(`${USAGE}?${query}`)
    expect(reply.status).toBe(422)
    expect(reply.body.detail[0].loc).toEqual(['query', name])
  })

  test('with one day as both ends gets that day', async () => {
    await chat()
    expect(await readUsage(`from=${today()}&to=${today()}`)).toHaveLength(1)
  })
})

test('the lines come in pages', async () => {
  const addition = { entity: 'default', project: 'p', model: 'm', api_key_id: crypto.randomUUID(), ...costOf(1) }
  const days = Array.from({ length: 25 }, (_, index) => `2026-01-${String(index + 1).padStart(2, '0')}`)
  await addUsage(
    server.service.database,
    days.map(day => ({ ...addition, day })),
  )
  const first = (await server.call(USAGE)).body
  expect([first.data.length, first.has_more, first.first_id, first.last_id]).toEqual([
    20,
    true,
    first.data[0].id,
    first.data[19].id,
  ])
  expect((await readUsage(`after=${first.last_id}`)).map(({ day }) => day)).toEqual(days.slice(20))
  expect((await readUsage('order=desc&limit=2')).map(({ day }) => day)).toEqual(days.slice(-2).reverse())
})

describe('counts are kept', () => {
  const restart = async (parts = { inference: countingEngine }) => {
    const { dataDir } = server
    await server.close(true)
    server = await startTestServer({ parts, dataDir })
  }

  test('by a restart, which comes before they were ever written', async () => {
    await chat()
    await restart()
    const [line] = await readUsage()
    expect(line).toMatchObject(costOf(1))
    await chat()
    expect(await readUsage()).toEqual([
      { ...line, requests: 2, prompt_tokens: 10, completion_tokens: 6, cached_tokens: 4 },
    ])
  })

  test('on disk after about a second, though nobody asks', async () => {
    await chat()
    const database = new DatabaseSync(join(server.dataDir, 'trainyard.sqlite'), { readOnly: true })
    const read = () => database.prepare('select requests, completion_tokens from usage').all()
    expect(read()).toEqual([])
    expect(await until(read, rows => rows.length > 0, 3000)).toEqual([{ requests: 1, completion_tokens: 3 }])
    database.close()
  })

  test('when their model is deleted', async () => {
    const id = await createModel(server, 'm')
    await chat({ model: 'artifact:///default/tests/m' })
    await server.call(`/v1/preview/models/${id}`, { method: 'DELETE' })
    expect(await readUsage()).toMatchObject([{ model: 'artifact:///default/tests/m', requests: 1 }])
  })

  /** SQLite's own limit of pages: it answers as on a full disk. */
  const setDatabaseFull = (isFull: boolean) =>
    sql.raw(`pragma max_page_count = ${isFull ? 1 : 1_000_000_000}`).execute(server.service.database)

  /** A few small rows still find room in pages that are there. Returns how many lines there should be. */
  async function chatUntilFull(): Promise<number> {
    for (let round = 1; ; round++) {
      await chat({}, { 'vendor-project': `default/${'p'.repeat(100)}${round}` })
      const { status } = await server.call(`${USAGE}?limit=100`)
      if (status !== 200) {
        expect(status).toBe(503)
        return round
      }
    }
  }

  test('in memory while the disk is full', async () => {
    await setDatabaseFull(true)
    const count = await chatUntilFull()
    await new Promise(resolve => setTimeout(resolve, 1200))
    await chat({}, { 'vendor-project': `default/${'p'.repeat(100)}${count}` })
    await setDatabaseFull(false)
    const twice = { requests: 2, prompt_tokens: 10, completion_tokens: 6, cached_tokens: 4 }
    expect(await readUsage('limit=100')).toMatchObject([...new Array(count - 1).fill(costOf(1)), twice])
  })

  test('as far as they were written when the service ends with a full disk', async () => {
    await setDatabaseFull(true)
    const count = await chatUntilFull()
    await restart()
    expect(await readUsage('limit=100')).toHaveLength(count - 1)
  })
})

test('chat requests do not wait for a commit each', async () => {
  const countWrites = async () => {
    const { rows } = await sql<{ count: number }>`select total_changes() as count`.execute(server.service.database)
    return rows[0]!.count
  }
  await chat()
  const [before, start] = [await countWrites(), performance.now()]
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, () => chat()))
  const seconds = (performance.now() - start) / 1000
  expect((await countWrites()) - before).toBeLessThanOrEqual(Math.ceil(seconds) + 1)
  expect(await readUsage()).toMatchObject([{ requests: 201 }])
})
