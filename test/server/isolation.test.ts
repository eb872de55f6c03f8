/**
 * Every operation, with a key of another team and with too low a role. Whatever a request names, in its path, query or body: a foreign
 * thing that exists and one that does not must answer the same, to the byte and in every header, and never with data.
 */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentPath, type Operation, operations } from '../../src/spec/document.ts'
import { createModel, type Reply, startTestServer, type TestServer, toRlJob, until } from './start.ts'
import { uploadVersion } from './upload.ts'

type References = Record<string, string>

/** As long as the names of what is there, so that lengths tell nothing either. */
const MISSING: References = {
  entity: 'bal',
  project: 'stset',
  name: 'serawx',
  model: 'oneraw',
  secret: 'YEKBAL',
  version: 'v7',
  alias: 'tseb',
  tag: 'doog',
  path: 'b.txt',
  registry: 'flehs',
  collection: 'skoob',
  user: 'nna',
  object_id: 'egduj',
  digest: '0'.repeat(64),
  ...Object.fromEntries(
    ['model_id', 'training_job_id', 'run_id', 'webhook_id', 'delivery_id', 'automation_id', 'api_key_id', 'id'].map(
      name => [name, '01990c5e-0000-7000-8000-000000000000'],
    ),
  ),
}

/** What of the walk's own team stands for a parameter that says where, rather than what. */
const OWN: References = { entity: 'own', project: 'mine', registry: 'mine' }

let server: TestServer
let owner: string
let member: string
let stranger: string
let theirs: References
/** Things of the stranger's own, named by the path of requests whose body is what is tried. */
let ownThings: References = {}

beforeAll(async () => {
  server = await startTestServer({ environment: { WEBHOOK_ALLOW: '127.0.0.0/8', WEBHOOK_RETRY_SCHEDULE: '0s' } })
  owner = await server.addKey('ann', 'lab', 'admin')
  member = await server.addKey('mel', 'lab')
  stranger = await server.addKey('eve', 'own', 'admin')
  theirs = await fill(server)
  const { webhook_id, automation_id, model_id } = await fillOwn(server)
  ownThings = { webhook_id, automation_id, model_id }
}, 60_000)
afterAll(() => server.close())

/** One thing of each kind, of team lab. */
async function fill(to: TestServer): Promise<References> {
  const send = async (path: string, json?: object, method?: string) => {
    const reply = await to.call(path, { key: owner, ...(json ? { json } : {}), ...(method ? { method } : {}) })
    if (reply.status !== 200) throw new Error(`${path}: ${reply.text}`)
    return reply.body
  }
  const model_id = await createModel(to, 'wares1', owner)
  const model = await send(`/v1/preview/models/${model_id}`)
  const job = await send('/v1/preview/training-jobs', toRlJob(model_id))
  const team = '/v1/preview/teams/lab'
  await send(`${team}/secrets/LABKEY`, { value: 'a value of the lab' }, 'PUT')
  const hook = { name: 'hook', endpoint_url: 'http://127.0.0.1:9/', access_token_secret: 'LABKEY' }
  const webhook = await send(`${team}/webhooks`, hook)
  const scope = { type: 'project', entity: 'lab', project: 'tests' }
  const event = { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^best$' }
  const automation = await send('/v1/preview/automations', {
    ...{ name: 'a', enabled: true, scope, event, webhook_id: webhook.id, payload: { a: 1 } },
  })
  const version = { type: 't', metadata: {}, aliases: ['best'], tags: ['good'] }
  await uploadVersion(to, 'lab/tests/wares2', { files: { 'a.txt': 'x' }, version, key: owner })
  await send('/v1/preview/registries/lab/shelf/collections/books/links', {
    artifact: 'artifact:///lab/tests/wares2:v0',
  })
  const scorer = await send('/v2/lab/tests/scorers', { object_id: 'judge' })
  const key = await send('/v1/preview/api-keys', { name: 'k' })
  const deliveries = await until(
    () => send(`${team}/webhooks/${webhook.id}/deliveries`),
    page => page.data.length > 0,
  )
  return {
    ...MISSING,
    ...{
      entity: 'lab',
      project: 'tests',
      name: 'wares2',
      model: 'wares1',
      secret: 'LABKEY',
      version: 'v0',
      alias: 'best',
      tag: 'good',
    },
    ...{
      path: 'a.txt',
      registry: 'shelf',
      collection: 'books',
      user: 'ann',
      object_id: 'judge',
      digest: scorer.digest,
    },
    ...{ model_id, training_job_id: job.id, run_id: model.run_id, webhook_id: webhook.id, api_key_id: key.id },
    ...{ automation_id: automation.id, delivery_id: deliveries.data[0].id, id: model_id },
  }
}

async function fillOwn(to: TestServer) {
  const send = async (path: string, json: object) => (await to.call(path, { key: stranger, json })).body
  const hook = { name: 'own', endpoint_url: 'http://127.0.0.1:9/' }
  const webhook_id: string = (await send('/v1/preview/teams/own/webhooks', hook)).id
  const scope = { type: 'project', entity: 'own', project: 'mine' }
  const event = { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^none$' }
  const automation = { name: 'own', enabled: false, scope, event, webhook_id, payload: {} }
  const model = await send('/v1/preview/models', { project: 'mine', name: 'own', base_model: 'tiny-chat' })
  const automation_id: string = (await send('/v1/preview/automations', automation)).id
  return { webhook_id, automation_id, model_id: model.id as string }
}

const document = JSON.parse(readFileSync(documentPath, 'utf8'))

/** The body that the contract shows, which is well-formed. */
function exampleBody({ method, path }: Operation): Record<string, unknown> | undefined {
  const json = document.paths[path][method.toLowerCase()].requestBody?.content['application/json']
  if (!json) return undefined
  const [first] = Object.values(json.examples ?? {}) as { $ref?: string; value?: unknown }[]
  const name = first?.$ref?.split('/').at(-1)
  return (name ? document.components.examples[name] : first)?.value
}

/** Properties of a body that name something, and how they do. */
const BODY_REFERENCES: Record<string, (of: References) => unknown> = {
  model_id: of => of.model_id,
  webhook_id: of => of.webhook_id,
  entity: of => of.entity,
  team: of => of.entity,
  model: of => `artifact:///${of.entity}/${of.project}/${of.model}`,
  training_data_url: of => `artifact:///${of.entity}/${of.project}/${of.name}:${of.version}`,
  artifact: of => `artifact:///${of.entity}/${of.project}/${of.name}:${of.version}`,
  access_token_secret: of => of.secret,
  signing_secret: of => of.secret,
}
const QUERY_REFERENCES: Record<string, (of: References) => string> = {
  entity: of => of.entity!,
  project: of => of.project!,
  registry: of => of.registry!,
  model_id: of => of.model_id!,
  model: of => `${of.entity}/${of.project}/${of.model}`,
  after: of => of.id!,
  digests: of => of.digest!,
}

/** Throws for a path parameter that the table above does not know: it must be added. */
function toPath({ path, operationId }: Operation, of: References): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = /Secret$/.test(operationId) && name === 'name' ? of.secret : of[name]
    if (value === undefined) throw new Error(`${operationId}: nothing is known to put for {${name}}`)
    return encodeURIComponent(value)
  })
}

interface Sent {
  path: string
  body?: unknown
}

async function send(operation: Operation, { path, body }: Sent, key: string): Promise<Reply> {
  const form = new FormData()
  form.append('version', '{"type":"t"}')
  form.append('files', new File(['x'], 'a'))
  const isForm = operation.requestBody?.content.has('multipart/form-data')
  return server.call(path, {
    method: operation.method,
    key,
    ...(isForm ? { body: form } : body === undefined ? {} : { json: body }),
  })
}

/** A reply without what differs between any two, and with each name replaced by what it names. */
function normalise({ status, headers, text }: Reply, of: References): object {
  let shown = text
  const names = Object.entries(of).toSorted(([, one], [, other]) => other.length - one.length)
  for (const [name, value] of names) {
    if (value.length > 1) shown = shown.replaceAll(value, `<${name === 'id' ? 'model_id' : name}>`)
  }
  const kept = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
  return { status, headers: Object.fromEntries(kept), text: shown.replace(/<\w*_?id>/g, '<id>') }
}

function isList(body: unknown): body is { data: unknown[] } {
  return typeof body === 'object' && body !== null && Array.isArray((body as { data?: unknown }).data)
}

/** Sends a request as a stranger with what is theirs, with what is missing in their team, and with what is missing altogether. */
async function expectNoDifference(operation: Operation, build: (of: References) => Sent): Promise<void> {
  const elsewhere = { ...MISSING, entity: theirs.entity! }
  const answers = []
  for (const of of [theirs, elsewhere, MISSING]) {
    const reply = await send(operation, build(of), stranger)
    const hasData = reply.status === 200 && !(isList(reply.body) && reply.body.data.length === 0)
    expect([hasData, reply.text], JSON.stringify(build(of))).toEqual([false, reply.text])
    answers.push(normalise(reply, of))
  }
  expect(answers[1], JSON.stringify(build(theirs))).toEqual(answers[0])
  expect(answers[2], JSON.stringify(build(theirs))).toEqual(answers[0])
}

const PRIVATE = operations.filter(({ security }) => security.length > 0)
const named = (some: readonly Operation[]) => some.map(operation => [operation.operationId, operation] as const)
const pathNames = ({ path }: Operation) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

describe('with a key of another team', () => {
  const withPath = PRIVATE.filter(operation => pathNames(operation).length > 0)

  test.each(named(withPath))('%s: what the path names', async (_, operation) => {
    await expectNoDifference(operation, of => ({ path: toPath(operation, of), body: exampleBody(operation) }))
  })

  // In the stranger's own team: ids of foreign things must not lead anywhere.
  const withinTeam = withPath.filter(operation => {
    const names = pathNames(operation)
    return names.includes('entity') && names.some(name => name.endsWith('_id') && name !== 'object_id')
  })
  test.each(named(withinTeam))('%s: what the path names, under the own team', async (_, operation) => {
    await expectNoDifference(operation, of => ({
      path: toPath(operation, { ...of, ...OWN }),
      body: exampleBody(operation),
    }))
  })

  const bodies = PRIVATE.flatMap(operation => {
    const properties = Object.keys(exampleBody(operation) ?? {}).concat(Object.keys(bodyProperties(operation)))
    const references = [...new Set(properties)].filter(name => name in BODY_REFERENCES)
    return references.map(name => [operation.operationId, name, operation] as const)
  })
  test.each(bodies)('%s: what the property %s of the body names', async (_, name, operation) => {
    const example = { ...exampleBody(operation)! }
    for (const secret of ['access_token_secret', 'signing_secret']) if (secret in example) example[secret] = null
    if ('webhook_id' in example) example.webhook_id = ownThings.webhook_id
    if ('model_id' in example) example.model_id = ownThings.model_id
    const scope = 'scope' in example ? { scope: { type: 'project', entity: 'own', project: 'mine' } } : {}
    await expectNoDifference(operation, of => ({
      path: toPath(operation, { ...theirs, ...OWN, ...ownThings }),
      body: { ...example, ...scope, [name]: BODY_REFERENCES[name]!(of) },
    }))
  })

  const queries = PRIVATE.flatMap(operation =>
    operation.parameters
      .filter(({ in: place, name }) => place === 'query' && name in QUERY_REFERENCES && !(name === 'digests'))
      .map(({ name }) => [operation.operationId, name, operation] as const),
  )
  test.each(queries)('%s: what the query parameter %s names', async (_, name, operation) => {
    const own = pathNames(operation).some(one => one.endsWith('_id')) ? {} : OWN
    const answers = []
    const elsewhere = { ...MISSING, entity: theirs.entity! }
    for (const of of [theirs, elsewhere, MISSING]) {
      const path = `${toPath(operation, { ...theirs, ...own })}?${name}=${encodeURIComponent(QUERY_REFERENCES[name]!(of))}`
      const reply = await send(operation, { path }, stranger)
      expect(reply.text).not.toContain('"lab"')
      answers.push(normalise(reply, of))
    }
    if (name !== 'after') for (const answer of answers) expect(answer).toEqual(answers[0])
    else for (const answer of answers) expect(answer).toMatchObject({ status: (answers[0] as Reply).status })
  })

  test('an idempotency key of another team means nothing', async () => {
    const headers = { 'idempotency-key': 'shared' }
    const model = ownThings.model_id!
    const own = { json: toRlJob(model), headers, key: stranger }
    await server.call('/v1/preview/training-jobs', { json: toRlJob(theirs.model_id!), headers, key: owner })
    const made = await server.call('/v1/preview/training-jobs', own)
    expect(made.status).toBe(200)
    expect(made.body.model_id).toBe(model)
    expect((await server.call('/v1/preview/training-jobs', own)).body.id).toBe(made.body.id)
  })

  test('lists show nothing of another team', async () => {
    const lists = PRIVATE.filter(
      ({ operationId, method, path }) => method === 'GET' && /^list/.test(operationId) && !path.includes('{'),
    )
    expect(lists.length).toBeGreaterThan(4)
    for (const { path } of lists) {
      const { status, text } = await server.call(path, { key: stranger })
      expect([path, status]).toEqual([path, 200])
      for (const name of ['model_id', 'training_job_id', 'run_id', 'webhook_id', 'automation_id', 'api_key_id'])
        expect(text).not.toContain(theirs[name])
      expect(text).not.toContain('lab')
    }
  })
})

function bodyProperties(operation: Operation): object {
  const schema = operation.requestBody?.content.get('application/json')?.schema
  if (typeof schema !== 'object' || schema === null) return {}
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1)! : null
  const resolved = name ? operation.components[name] : schema
  return ((resolved as { properties?: object }).properties ?? {}) as object
}

/** What a member who administers nothing may not do. */
const FOR_ADMINS = [
  ...['putSecret', 'deleteSecret', 'putMember', 'deleteMember'],
  ...['createWebhook', 'updateWebhook', 'deleteWebhook', 'testWebhook', 'redeliverWebhook'],
  ...['createAutomation', 'updateAutomation', 'deleteAutomation'],
]

test('with too low a role: exactly what is for admins is answered 403, and nothing is changed', async () => {
  const refused: string[] = []
  for (const operation of PRIVATE) {
    // Deleting what the walk still needs would be allowed to a member.
    if (/^(delete(Model|Checkpoints|Artifact|Scorer)|cancel)/.test(operation.operationId)) continue
    const example = exampleBody(operation)
    const scope = example && 'scope' in example ? { scope: { type: 'project', entity: 'lab', project: 'tests' } } : {}
    const webhook = example && 'webhook_id' in example ? { webhook_id: theirs.webhook_id } : {}
    const team = operation.operationId === 'createApiKey' ? { team: 'lab' } : {}
    const body = example && { ...example, ...scope, ...webhook, ...team }
    const { status } = await send(operation, { path: toPath(operation, theirs), body }, member)
    if (status === 403) refused.push(operation.operationId)
  }
  expect(refused.toSorted()).toEqual([...FOR_ADMINS].toSorted())
})
