import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CREATIONS, findTraces } from '../../src/contract/creations.ts'
import { createJournal, readJournals } from '../../src/contract/journal.ts'
import { createJournalingFetch } from '../../src/contract/journaling-fetch.ts'
import { createPlainClient, parametersOf, takeAway } from '../../src/contract/take-away.ts'
import { NOTHING_GIVEN, type Target } from '../../src/contract/target.ts'
import { operations } from '../../src/spec/document.ts'

const RUN = 'contract-abcdefgh-012345'
const target: Target = {
  ...{
    baseUrl: 'http://h/prefix',
    inferenceUrl: 'http://h/prefix/v1',
    apiKey: 'first-key',
    secondApiKey: 'second-key',
  },
  ...{ basic: 'api:first-key', baseModel: 'm', isMock: false, jobTimeoutMs: 1, profile: 'full', project: null },
  ...{ isReadOnly: false, given: NOTHING_GIVEN, mayTrain: true, mayRetry: true, receiver: null },
}

let folder: string
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'contract-journal-')), 'state')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

interface Model {
  id: string
  name: string
  /** The key that made it. */
  by: string
}

/** A deployment that keeps models alone. What is asked for, in order, stands in `log`. */
function createDeployment(models: Model[] = []) {
  const log: string[] = []
  let isLost = false
  let refuses = 0
  const reply = (status: number, body: unknown) => new Response(JSON.stringify(body), { status })
  const send: typeof fetch = async (input, init) => {
    const { pathname } = new URL(String(input))
    const method = init?.method ?? 'GET'
    const by = new Headers(init?.headers).get('authorization') ?? ''
    log.push(`${method} ${pathname.split('/').at(-1)}`)
    if (method === 'GET') return reply(200, { object: 'list', data: models, has_more: false, last_id: '' })
    if (method === 'POST') {
      const { name } = JSON.parse(String(init?.body)) as Model
      const model = { id: `id-of-${name}`, name, by }
      models.push(model)
      if (isLost) throw new Error('connection lost')
      return reply(200, model)
    }
    if (refuses-- > 0) return reply(400, {})
    const place = models.findIndex(model => pathname.endsWith(model.id) && model.by === by)
    if (place < 0) return reply(404, {})
    models.splice(place, 1)
    return reply(200, {})
  }
  return { models, log, send, lose: () => (isLost = true), refuse: (times: number) => (refuses = times) }
}

function openRun(deployment: ReturnType<typeof createDeployment>) {
  const journal = createJournal(folder, RUN, target)
  const client = createPlainClient(target, createJournalingFetch(deployment.send, journal, target))
  const create = (name: string, as?: { bearer: string }) =>
    client.call('createModel', { body: { project: RUN, name, base_model: 'm' }, ...(as ? { as } : {}) })
  const clean = () => takeAway(journal, client, target)
  return { journal, client, create, clean }
}

describe('the journal', () => {
  it('is written before the request is sent, without keys, and read again', async () => {
    const deployment = createDeployment()
    const { create } = openRun(deployment)
    await create(`${RUN}-a`)
    const [name] = await readdir(folder)
    const text = await readFile(join(folder, name!), 'utf8')
    expect(name).toBe(`${RUN}.jsonl`)
    expect(text.split('\n').map(line => Object.keys(JSON.parse(line || '{}'))[0])).toEqual([
      'run',
      'sent',
      'made',
      undefined,
    ])
    expect(text).not.toContain('first-key')
    const [journal] = readJournals(folder, target)
    expect(journal).toMatchObject({ runId: RUN, baseUrl: 'http://h/prefix', pid: process.pid })
    expect(journal!.entries).toMatchObject([{ operationId: 'createModel', state: 'made', key: 'first' }])
  })

  it('knows of a request whose reply never came', async () => {
    const deployment = createDeployment()
    const { create } = openRun(deployment)
    deployment.lose()
    await expect(create(`${RUN}-a`)).rejects.toThrow('connection lost')
    expect(readJournals(folder, target)[0]!.entries).toMatchObject([{ state: 'sent' }])
  })

  it('is that of one deployment', async () => {
    await openRun(createDeployment()).create(`${RUN}-a`)
    expect(readJournals(folder, { baseUrl: 'http://other' })).toEqual([])
    expect(readJournals(join(folder, 'none'), target)).toEqual([])
  })

  it('has no file before something is made', async () => {
    createJournal(folder, RUN, target)
    expect(readJournals(folder, target)).toEqual([])
  })
})

describe('taking away', () => {
  it('begins with what was made last, and uses the key that made it', async () => {
    const deployment = createDeployment()
    const { create, clean } = openRun(deployment)
    await create('a')
    await create('b', { bearer: 'second-key' })
    deployment.log.length = 0
    expect(await clean()).toEqual([])
    expect(deployment.log).toEqual(['DELETE id-of-b', 'DELETE id-of-a'])
    expect(deployment.models).toEqual([])
  })

  it('leaves alone what is gone already', async () => {
    const deployment = createDeployment()
    const { create, clean, client } = openRun(deployment)
    await create('a')
    await client.call('deleteModel', { path: { model_id: 'id-of-a' }, bad: true })
    deployment.log.length = 0
    expect(await clean()).toEqual([])
    expect(deployment.log).toEqual([])
  })

  it('does not take the 404 of another team for the end of a thing', async () => {
    const deployment = createDeployment()
    const { create, clean, client } = openRun(deployment)
    await create('a')
    await client.call('deleteModel', { path: { model_id: 'id-of-a' }, bad: true, as: { bearer: 'second-key' } })
    expect(await clean()).toEqual([])
    expect(deployment.models).toEqual([])
  })

  it('looks in the list for what no reply told of, and touches nothing else', async () => {
    const foreign = { id: 'foreign', name: 'mine', by: 'Bearer first-key' }
    const deployment = createDeployment([foreign])
    const { create, clean } = openRun(deployment)
    deployment.lose()
    await create(`${RUN}-a`).catch(() => {})
    await create(`${RUN}-b`).catch(() => {})
    expect(await clean()).toEqual([])
    expect(deployment.models).toEqual([foreign])
    expect(deployment.log.filter(line => line.startsWith('GET'))).toHaveLength(1)
  })

  it('tries again what is in use, and tells what stays', async () => {
    const deployment = createDeployment()
    const { create, clean } = openRun(deployment)
    await create('a')
    deployment.refuse(1)
    expect(await clean()).toEqual([])
    await create('b')
    deployment.refuse(99)
    expect(await clean()).toEqual(['model id-of-b: deleteModel answered 400'])
  })
})

describe('the table of what operations make', () => {
  const ids = operations.map(({ operationId }) => operationId)

  it('has every operation that makes something', () => {
    const making = ids.filter(id => /^(create|put|add)[A-Z]/.test(id))
    expect(making.filter(id => !CREATIONS[id])).toEqual([])
  })

  it.each(Object.entries(CREATIONS).filter(([id]) => ids.includes(id)))(
    'can take away what %s makes',
    (id, creation) => {
      const { undo, list, from } = creation
      if (undo === null) return
      const path = operations.find(({ operationId }) => operationId === id)!.parameters
      const known = [...path.filter(one => one.in === 'path').map(({ name }) => name), ...Object.keys(from)]
      expect(known).toEqual(expect.arrayContaining(parametersOf(undo)!))
      if (list !== null) expect(known).toEqual(expect.arrayContaining(parametersOf(list)!))
    },
  )

  it('tells what stays of what was used alone', () => {
    expect(findTraces({ createChatCompletion: { 200: 3 }, createScorer: { 422: 1 } })).toEqual(['usage'])
    expect(findTraces({})).toEqual([])
  })
})
