/** Laws between operations and between requests that no single reply shows. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { type Operation, operations } from '../../src/spec/document.ts'
import { goodRequest } from './good-requests.ts'
import { walk, whileStill } from './pages.ts'
import { client, createArtifact, createModel, home, project, runId, target, toForm } from './setup.ts'
import { conversations, toJsonLines } from './training-data.ts'

const WIRE = '/info/description#On the wire'
const LISTS = '/info/description#Lists'
const REQUEST_ID = '/components/headers/XRequestId/description'
const REPEATS = '/info/description#Safe repeats'
const DEFAULT_LIMIT = 20

interface Page {
  data: { id: string }[]
  has_more: boolean
}

/** Whether the pages that stand in for all of them follow from the whole list, where that is one page. */
async function judgePages(
  read: (query: NonNullable<CallOptions['query']>) => Promise<Page>,
  { data, has_more }: Page,
): Promise<void> {
  const toAfter = (item: { id: string } | undefined) => (item === undefined ? {} : { after: item.id })
  const first = await read({})
  const afterFirst = await read({ limit: 100, ...toAfter(data[0]) })
  const newest = await read({ order: 'desc', limit: 1 })
  const beforeNewest = await read({ order: 'desc', limit: 100, ...toAfter(newest.data[0]) })
  expect(first.data).toEqual(data.slice(0, DEFAULT_LIMIT))
  expect(first.has_more).toBe(data.length > DEFAULT_LIMIT)
  if (has_more) return
  expect(afterFirst.data).toEqual(data.slice(1))
  expect(newest.data).toEqual(data.slice(-1))
  expect(beforeNewest.data).toEqual(data.slice(0, -1).toReversed())
}

section('Laws, of which a mock keeps few', { needs: ['memory'] }, () => {
  for (const operation of operations.filter(({ method }) => method === 'GET')) {
    const id = operation.operationId as OperationId
    check(`${id}/answers-head-as-it-answers-get`, { source: WIRE, shares: 'good requests', requests: 2 }, async () => {
      const get = await client.call(id, goodRequest(id))
      const { url, headers } = toHead(operation, goodRequest(id))
      const head = await client.request(url, { method: 'HEAD', headers })
      const told = ({ status, headers }: typeof head) => ({ status, type: headers.get('content-type') })
      expect(told(head)).toEqual(told(get))
      expect(head.bytes).toHaveLength(0)
    })
  }

  function toHead({ path: template, security }: Operation, { path = {}, query = {} }: CallOptions) {
    const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!))
    const url = new URL(target.baseUrl + filled)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value))
    const basic = `Basic ${Buffer.from(target.basic).toString('base64')}`
    const authorization = security[0] === 'basic' ? basic : `Bearer ${target.apiKey}`
    return { url: url.href, headers: security.length > 0 ? { authorization } : {} }
  }

  check('createChatCompletion/bears-the-id-of-the-request-on-a-stream', { source: REQUEST_ID }, async () => {
    const body = {
      model: target.baseModel,
      messages: [{ role: 'user', content: 'hi' }],
      max_completion_tokens: 2,
      stream: true,
    }
    for (const id of ['createChatCompletion', 'createChatCompletionSlash'] as const) {
      const response = await client.open(id, { body, headers: { 'x-request-id': `${runId}-stream` } })
      await response.text()
      expect(response.headers.get('x-request-id')).toBe(`${runId}-stream`)
    }
  })

  section('pages of lists as long as they happen to be', { source: LISTS, home: true }, () => {
    /** Lists of the team, which other checks have filled. */
    const LISTS_OF_TEAM: [OperationId, () => CallOptions][] = [
      ['listModels', () => ({})],
      ['listRuns', () => ({})],
      ['listTrainingJobs', () => ({})],
      ['listApiKeys', () => ({})],
      ['listAutomations', () => ({})],
      ['getUsage', () => ({})],
      ['listWebhooks', () => ({ path: { entity: home.entity } })],
      ['listSecrets', () => ({ path: { entity: home.entity } })],
      ['listMembers', () => ({ path: { entity: home.entity } })],
      ['listScorers', () => ({ path: { entity: home.entity, project } })],
      ['listArtifactVersions', () => ({ path: { entity: home.entity, project, name: home.name } })],
    ]
    for (const [id, options] of LISTS_OF_TEAM)
      check(`${id}/has-pages-of-20-that-follow-each-other`, { requests: 6 }, async () => {
        const read = async (query: NonNullable<CallOptions['query']>) =>
          (await client.ok(id, { ...options(), query })) as Page
        await whileStill(
          () => read({ limit: 100 }),
          all => judgePages(read, all),
        )
      })
  })

  check('listTrajectories/stays-in-step-when-more-is-logged', { source: LISTS }, async () => {
    const { id } = await createModel('insertion')
    const path = { model_id: id }
    const log = (rewards: number[]) => {
      const toTrajectory = (reward: number) => ({ messages_and_choices: [{ role: 'user', content: 'hi' }], reward })
      const trajectory_groups = [{ trajectories: rewards.map(toTrajectory) }]
      return client.ok('logTrajectories', { path, body: { split: 'val', trajectory_groups } })
    }
    await log(Array.from({ length: DEFAULT_LIMIT + 1 }, (_, reward) => reward))
    const first = await client.ok('listTrajectories', { path })
    expect({ items: first.data.length, has_more: first.has_more }).toEqual({ items: DEFAULT_LIMIT, has_more: true })
    const newest = await client.ok('listTrajectories', { path, query: { order: 'desc', limit: 2 } })
    await log([DEFAULT_LIMIT + 1])
    const rewards = async (query: NonNullable<CallOptions['query']>) =>
      (await client.ok('listTrajectories', { path, query })).data.map(({ reward }) => reward)
    expect(await rewards({ after: first.last_id })).toEqual([DEFAULT_LIMIT, DEFAULT_LIMIT + 1])
    expect(await rewards({ after: newest.last_id, order: 'desc', limit: 2 })).toEqual([18, 17])
    expect(await walk('listTrajectories', { path }, { limit: 7 })).toHaveLength(DEFAULT_LIMIT + 2)
  })

  check('createArtifactVersion/takes-files-in-any-order', async () => {
    const version = { type: 'dataset', metadata: { b: 1, a: [1, 2] } }
    const one = await createArtifact('order', { files: { 'a.txt': '1', 'b/c.txt': '2', 'b.txt': '' }, version })
    const metadata = { a: [1, 2], b: 1 }
    const files = { 'b.txt': '', 'b/c.txt': '2', 'a.txt': '1' }
    expect(await createArtifact('order', { files, version: { metadata, type: 'dataset' } })).toEqual(one)
    for (const other of [
      { files: { ...files, 'a.txt': '2' }, version },
      { files: { ...files, 'd.txt': '' }, version },
      { files, version: { ...version, metadata: { b: 1, a: [2, 1] } } },
      { files, version: { ...version, type: 'other' } },
    ])
      expect((await createArtifact('order', other)).digest).not.toBe(one.digest)
    const path = { entity: home.entity, project, name: `${runId}-order` }
    expect((await client.ok('listArtifactVersions', { path })).data.map(({ version }) => version)).toEqual([
      ...['v0', 'v1', 'v2', 'v3', 'v4'],
    ])
    const elsewhere = { ...path, name: `${runId}-order-2` }
    const copy = await client.ok('createArtifactVersion', { path: elsewhere, form: toForm({ files, version }) })
    expect({ version: copy.version, digest: copy.digest }).toEqual({ version: 'v0', digest: one.digest })
    expect(copy.id).not.toBe(one.id)
  })

  check(
    'getArtifactFile/has-the-hash-of-the-whole-file-as-etag',
    { source: '/components/headers/ETag/description' },
    async () => {
      const text = 'the whole file'
      const { name } = await createArtifact('etag', { files: { a: text }, version: { type: 'dataset' } })
      const path = { entity: home.entity, project, name, version: 'v0', path: 'a' }
      const etag = `"${createHash('sha256').update(text).digest('hex')}"`
      for (const headers of [{}, { range: 'bytes=1-3' }] as Record<string, string>[])
        expect((await client.call('getArtifactFile', { path, headers })).headers.get('etag')).toBe(etag)
    },
  )

  check('updateWebhook/renames-but-not-to-a-taken-name', async () => {
    const path = { entity: home.entity }
    const create = (name: string) =>
      client.ok('createWebhook', {
        path,
        body: { name: `${runId} ${name}`, endpoint_url: 'https://hooks.example.com/' },
      })
    const [one, other] = [await create('rename one'), await create('rename other')]
    const at = { ...path, webhook_id: one.id }
    const same = await client.ok('updateWebhook', { path: at, body: { name: one.name } })
    expect(same).toEqual({ ...one, updated_at: same.updated_at })
    await client.refused('updateWebhook', 400, { path: at, body: { name: other.name } })
    const renamed = await client.ok('updateWebhook', { path: at, body: { name: `${runId} renamed` } })
    expect(await client.ok('getWebhook', { path: at })).toEqual(renamed)
    expect(await client.ok('getWebhook', { path: { ...path, webhook_id: other.id } })).toEqual(other)
  })

  check('createModel/holds-a-name-once-for-each-project', { needs: ['own-project'] }, async () => {
    const model = await createModel('twice')
    const named = { name: model.name, base_model: target.baseModel }
    const body = { entity: home.entity, project: `${runId}-other`, ...named }
    const other = await client.ok('createModel', { body })
    const third = await client.ok('createModel', { body: { project: `${runId}-third`, ...named } })
    expect(new Set([model.id, other.id, third.id]).size).toBe(3)
    expect(other.id).not.toBe(model.id)
    expect(other.run_id).not.toBe(model.run_id)
    const runs = await client.ok('listRuns', { query: { project: body.project } })
    expect(runs.data.map(({ id, model_id }) => ({ id, model_id }))).toEqual([{ id: other.run_id, model_id: other.id }])
    await client.ok('deleteModel', { path: { model_id: other.id } })
    expect(await client.ok('getModel', { path: { model_id: model.id } })).toEqual(model)
    expect((await client.ok('listRuns', { query: { project: body.project } })).data).toEqual([])
  })

  section('idempotency keys', { source: REPEATS, needs: ['training'] }, () => {
    const headers = { 'idempotency-key': `${runId}-scope` }
    const options = { timeout: 2 * target.jobTimeoutMs }

    check('createSftTrainingJob/knows-no-key-of-the-other-kind-of-job', options, async () => {
      const model = await createModel('key-kinds')
      const files = { 'train.jsonl': toJsonLines(conversations(1)) }
      const { uri } = await createArtifact('key-kinds', { files, version: { type: 'dataset' } })
      const rl = { model_id: model.id, trajectory_groups: [] }
      const sft = { model_id: model.id, training_data_url: uri }
      const first = await client.ok('createRlTrainingJob', { headers, body: rl })
      const second = await client.ok('createSftTrainingJob', { headers, body: sft })
      expect(second).toMatchObject({ type: 'sft' })
      expect(second.id).not.toBe(first.id)
      expect((await client.ok('createRlTrainingJob', { headers, body: rl })).id).toBe(first.id)
      expect((await client.ok('createSftTrainingJob', { headers, body: sft })).id).toBe(second.id)
    })

    check('createRlTrainingJob/knows-no-key-of-another-team', { ...options, needs: ['second-key'] }, async () => {
      const as = { bearer: target.secondApiKey! }
      const key = { 'idempotency-key': `${runId}-teams` }
      const model = await createModel('key-teams')
      const body = { project, name: `${runId}-key-teams`, base_model: target.baseModel }
      const theirs = await client.ok('createModel', { body, as })
      const create = (model_id: string, more: object) =>
        client.ok('createRlTrainingJob', { headers: key, body: { model_id, trajectory_groups: [] }, ...more })
      const [one, other] = [await create(model.id, {}), await create(theirs.id, { as })]
      expect(other.id).not.toBe(one.id)
      expect(other.model_id).toBe(theirs.id)
      expect((await create(model.id, {})).id).toBe(one.id)
    })
  })
})
