import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createModel, FIRST_KEY, sendRaw, startTestServer, type TestServer, until } from './start.ts'
import { sendForm, uploadVersion } from './upload.ts'

const PLACE = 'default/p/a'
const VERSIONS = `/v1/preview/artifacts/${PLACE}/versions`
const MAX_BYTES = 200_000

let server: TestServer

beforeEach(async () => {
  server = await startTestServer({ environment: { MAX_ARTIFACT_BYTES: String(MAX_BYTES) }, runJobs: false })
})
afterEach(() => server.close())

const file = (fileName: string, content = 'x') => ({ name: 'files', fileName, content })
const version = (content: string, type = 'application/json') => ({ name: 'version', type, content })
const sha256 = (content: string) => createHash('sha256').update(content).digest('hex')

/** Names of all contents, and of what is half written. */
async function readStore(): Promise<string[]> {
  const entries = await readdir(join(server.dataDir, 'artifacts'), { recursive: true, withFileTypes: true })
  return entries.filter(entry => entry.isFile()).map(entry => entry.name)
}

test('a version holds what was sent, in any order of the parts', async () => {
  const meta = version('{"type":"dataset","metadata":{"rows":2},"aliases":["best"],"tags":["t"]}')
  const orders = [
    [file('b/c.txt', 'second'), meta, file('a.txt', 'first')],
    [meta, file('a.txt', 'first'), file('b/c.txt', 'second')],
    [file('a.txt', 'first'), { name: 'other', content: 'ignored' }, file('b/c.txt', 'second'), meta],
  ]
  for (const parts of orders) {
    const reply = await sendForm(server, PLACE, parts)
    expect(reply.status).toBe(200)
    expect(reply.body).toMatchObject({
      entity: 'default',
      project: 'p',
      name: 'a',
      version: 'v0',
      type: 'dataset',
      metadata: { rows: 2 },
      aliases: ['best', 'latest'],
      tags: ['t'],
      size_bytes: 11,
      uri: 'artifact:///default/p/a:v0',
      files: [
        { path: 'a.txt', size_bytes: 5, sha256: sha256('first') },
        { path: 'b/c.txt', size_bytes: 6, sha256: sha256('second') },
      ],
    })
  }
})

describe('a form with a fault is a 422 that names the part, and nothing of it is kept', () => {
  test.each([
    ['no file', [version('{}')], ['body', 'files']],
    ['no version', [file('a')], ['body', 'version']],
    ['nothing', [], ['body', 'files']],
    ['a file without a name', [{ name: 'files', content: 'x' }, version('{}')], ['body', 'files', '0']],
    ['a path that climbs', [file('ok'), file('../a'), version('{}')], ['body', 'files', '1']],
    ['a path that climbs inside', [file('a/../../b'), version('{}')], ['body', 'files', '0']],
    ['a path from the root', [file('/etc/passwd'), version('{}')], ['body', 'files', '0']],
    ['a path with a backslash', [file('a\\\\b'), version('{}')], ['body', 'files', '0']],
    ['a path to a folder', [file('a/'), version('{}')], ['body', 'files', '0']],
    ['the same path twice', [file('a'), file('a', 'y'), version('{}')], ['body', 'files', '1']],
    ['a file where a folder is', [file('a/b'), file('a'), version('{}')], ['body', 'files', '1']],
    ['a folder where a file is', [file('a'), file('a/b'), version('{}')], ['body', 'files', '1']],
    ['a version that is no JSON', [file('a'), version('{', 'text/plain')], ['body', 'version', '1']],
    ['a version that is no JSON and says so', [file('a'), version('{oops}')], ['body', 'version', '1']],
    ['a version that is no object', [file('a'), version('[]')], ['body', 'version']],
    [
      'a deep version',
      [file('a'), version(`{"metadata":${'{"a":'.repeat(9000)}1${'}'.repeat(9001)}`)],
      ['body', 'version', '1287'],
    ],
    ['a type that is no text', [file('a'), version('{"type":7}')], ['body', 'version', 'type']],
    ['an alias like a version', [file('a'), version('{"aliases":["ok","v1"]}')], ['body', 'version', 'aliases', '1']],
    ['an alias with a slash', [file('a'), version('{"aliases":["a/b"]}')], ['body', 'version', 'aliases', '0']],
  ])('%s', async (_name, parts, loc) => {
    const reply = await sendForm(server, PLACE, parts)
    expect(reply.status).toBe(422)
    expect(reply.body.detail[0].loc).toEqual(loc)
    expect(await readStore()).toEqual([])
    expect((await server.call(VERSIONS)).body.data).toEqual([])
  })

  test('a form that ends before its end', async () => {
    const reply = await sendForm(server, PLACE, [version('{}'), file('a')], '')
    expect(reply.status).toBe(422)
    expect(await readStore()).toEqual([])
  })

  test('a form without a boundary, and one that is no form', async () => {
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x']) {
      const reply = await server.call(VERSIONS, {
        body: Buffer.from('nothing like it'),
        headers: { 'content-type': type },
      })
      expect(reply.status).toBe(422)
    }
  })
})

describe('more bytes than allowed are a 413, and nothing of them is kept', () => {
  test.each([
    ['in one file', { a: 'x'.repeat(MAX_BYTES + 1) }],
    ['in several', { a: 'x'.repeat(MAX_BYTES), b: 'y' }],
    ['far more', { a: 'x'.repeat(MAX_BYTES * 50) }],
  ])('%s', async (_name, files) => {
    const reply = await uploadVersion(server, PLACE, { files })
    expect(reply.status).toBe(413)
    expect(reply.body.error.code).toBe('payload_too_large')
    expect(await readStore()).toEqual([])
  })

  test('in the version part', async () => {
    const parts = [file('a'), version(JSON.stringify({ metadata: { a: 'x'.repeat(1_100_000) } }))]
    expect((await sendForm(server, PLACE, parts)).status).toBe(413)
    expect(await readStore()).toEqual([])
  })

  test('and the limit itself is fine', async () => {
    expect((await uploadVersion(server, PLACE, { files: { a: 'x'.repeat(MAX_BYTES) } })).status).toBe(200)
  })
})

test('more than a thousand files make one version, which can be deleted again', async () => {
  const files = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`f${index}`, `content ${index % 3}`]))
  const reply = await uploadVersion(server, PLACE, { files })
  expect(reply.status).toBe(200)
  expect(reply.body.files).toHaveLength(1200)
  expect(await readStore()).toHaveLength(3)
  expect((await server.call(`${VERSIONS}/v0`, { method: 'DELETE' })).status).toBe(200)
  expect(await readStore()).toEqual([])
})

test('a client that goes away in the middle of a file leaves nothing behind', async () => {
  const socket = connect(server.port, '127.0.0.1')
  const part = '--b\r\ncontent-disposition: form-data; name="files"; filename="a"\r\n\r\n'
  socket.write(
    `POST ${VERSIONS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n${part}${'x'.repeat(5000)}`,
  )
  await until(readStore, names => names.length === 1)
  socket.destroy()
  await until(readStore, names => names.length === 0)
})

test('the next request on a connection is answered after a refused upload, however much of it was unread', async () => {
  const form = `--b\r\ncontent-disposition: form-data; name="files"; filename="../a"\r\n\r\n${'x'.repeat(5_000_000)}\r\n--b--\r\n`
  const answer = await sendRaw(server.port, [
    `POST ${VERSIONS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${FIRST_KEY}\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ${form.length}\r\n\r\n`,
    form,
    'GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n',
  ])
  expect(answer).toContain('HTTP/1.1 422')
  expect(answer).toContain('{"status":"ok"}')
})

describe('versions', () => {
  const upload = (content: string, fields: object = {}) =>
    uploadVersion(server, PLACE, { files: { a: content }, version: fields })
  const aliasesOf = async (name: string) => (await server.call(`${VERSIONS}/${name}`)).body.aliases

  test('of the same content are one, which gets the new aliases and tags', async () => {
    const first = await upload('one', { aliases: ['x'], tags: ['s'] })
    const again = await upload('one', { aliases: ['y'], tags: ['s', 't'] })
    expect(again.body).toMatchObject({
      id: first.body.id,
      version: 'v0',
      aliases: ['latest', 'x', 'y'],
      tags: ['s', 't'],
    })
    expect((await server.call(VERSIONS)).body.data).toHaveLength(1)
  })

  test('of other content, type or metadata are others', async () => {
    for (const [index, [content, fields]] of [
      ['one', {}],
      ['two', {}],
      ['one', { type: 'x' }],
      ['one', { metadata: { a: 1 } }],
    ].entries()) {
      expect((await upload(content as string, fields as object)).body.version).toBe(`v${index}`)
    }
  })

  test('are found by number and by alias, and aliases move', async () => {
    await upload('one', { aliases: ['best'] })
    await upload('two', { aliases: ['best'] })
    expect(await aliasesOf('v0')).toEqual([])
    expect(await aliasesOf('best')).toEqual(['best', 'latest'])
    const moved = await server.call(`${VERSIONS}/v0/aliases/best`, { method: 'PUT' })
    expect(moved.body).toMatchObject({ version: 'v0', aliases: ['best'] })
    expect(await aliasesOf('v1')).toEqual(['latest'])
    const taken = await server.call(`${VERSIONS}/best/aliases/best`, { method: 'DELETE' })
    expect(taken.body).toMatchObject({ version: 'v0', aliases: [] })
    expect((await server.call(`${VERSIONS}/best`)).status).toBe(404)
    expect((await server.call(`${VERSIONS}/v0/aliases/best`, { method: 'DELETE' })).status).toBe(404)
  })

  test('take no alias that reads like a version', async () => {
    await upload('one')
    const reply = await server.call(`${VERSIONS}/v0/aliases/v1`, { method: 'PUT' })
    expect(reply.status).toBe(422)
    expect(reply.body.detail[0].loc).toEqual(['path', 'alias'])
  })

  test('keep their numbers when others are deleted, and latest moves on', async () => {
    for (const content of ['one', 'two', 'three']) await upload(content)
    expect((await server.call(`${VERSIONS}/v2`, { method: 'DELETE' })).body).toMatchObject({
      version: 'v2',
      deleted: true,
    })
    expect(await aliasesOf('v1')).toEqual(['latest'])
    expect((await upload('four')).body.version).toBe('v3')
    expect((await server.call(`${VERSIONS}/v2`)).status).toBe(404)
    expect((await server.call(`${VERSIONS}/v2`, { method: 'DELETE' })).status).toBe(404)
  })

  test('share contents, which go with the last of them', async () => {
    await uploadVersion(server, PLACE, { files: { a: 'shared', b: 'own' } })
    await uploadVersion(server, 'default/p/other', { files: { c: 'shared' } })
    await server.call(`${VERSIONS}/v0`, { method: 'DELETE' })
    expect(await readStore()).toEqual([sha256('shared')])
    await server.call('/v1/preview/artifacts/default/p/other/versions/v0', { method: 'DELETE' })
    expect(await readStore()).toEqual([])
  })

  test('in use by a model or by a job that has not ended are not deleted', async () => {
    const model = await createModel(server, 'm')
    const checkpoint = await server.call('/v1/preview/artifacts/default/tests/m/versions/step0', { method: 'DELETE' })
    expect(checkpoint.status).toBe(400)
    expect(checkpoint.body.error.code).toBe('artifact_in_use')
    const line = '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}'
    await uploadVersion(server, PLACE, { files: { 'trajectories.jsonl': line, 'metadata.json': '{}' } })
    const json = { model_id: model, training_data_url: 'artifact:///default/p/a:v0' }
    const job = await server.call('/v1/preview/sft-training-jobs', { json })
    expect((await server.call(`${VERSIONS}/v0`, { method: 'DELETE' })).status).toBe(400)
    await server.call(`/v1/preview/training-jobs/${job.body.id}/cancel`, { method: 'POST' })
    expect((await server.call(`${VERSIONS}/v0`, { method: 'DELETE' })).status).toBe(200)
  })
})

test('whatever races, a version that stands has its contents, and nothing else is kept', async () => {
  const upload = (name: string) =>
    uploadVersion(server, `default/race/${name}`, {
      files: { a: 'the same', b: 'in all' },
      version: { metadata: { name } },
    })
  for (let round = 0; round < 15; round++) {
    const names = ['a', 'b', 'c']
    const works = names.flatMap(name => [
      upload(name),
      server.call(`/v1/preview/artifacts/default/race/${name}/versions/latest`, { method: 'DELETE' }),
      createModel(server, `${name}${round}`).then(id => server.call(`/v1/preview/models/${id}`, { method: 'DELETE' })),
    ])
    for (const { status } of await Promise.all(works)) expect(status).toBeOneOf([200, 404, 503])
    for (const name of names) {
      const { body } = await server.call(`/v1/preview/artifacts/default/race/${name}/versions`)
      for (const { version: number } of body.data) {
        const path = `/v1/preview/artifacts/default/race/${name}/versions/${number}`
        expect((await server.call(`${path}/files/a`)).text).toBe('the same')
        await server.call(path, { method: 'DELETE' })
      }
    }
    expect(await readStore()).toEqual([])
  }
})
