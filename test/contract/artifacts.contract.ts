import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { checkPages } from './pages.ts'
import type { Upload } from './setup.ts'
import { client, createArtifact, createModel, foreignTeam, home, project, runId, target, toForm } from './setup.ts'

const TEXT = 'hello, wörld\n'
const upload: Upload = {
  files: { 'trajectories.jsonl': TEXT, 'more/metadata.json': '{"rows":1}' },
  version: { type: 'dataset', metadata: { rows: 1, nested: { a: null } }, aliases: ['first'], tags: ['small'] },
}
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

section('Artifacts, which a mock does not keep', { needs: ['memory'] }, () => {
  const at = (name: string, version?: string) => {
    const path = { entity: home.entity, project, name: `${runId}-${name}` }
    return { path: version === undefined ? path : { ...path, version } }
  }
  const get = (name: string, version: string) => client.ok('getArtifactVersion', at(name, version))
  const getFile = (name: string, path: string, range?: string) =>
    client.call('getArtifactFile', {
      path: { ...at(name, 'v0').path, path },
      headers: range === undefined ? {} : { range },
    })

  check('createArtifactVersion/keeps-files-metadata-aliases-and-tags', async () => {
    const version = await createArtifact('data', upload)
    expect(version).toMatchObject({
      entity: home.entity,
      version: 'v0',
      type: 'dataset',
      metadata: { rows: 1, nested: { a: null } },
      aliases: ['first', 'latest'],
      tags: ['small'],
      size_bytes: Buffer.byteLength(TEXT) + 10,
      files: [
        { path: 'more/metadata.json', size_bytes: 10 },
        { path: 'trajectories.jsonl', size_bytes: Buffer.byteLength(TEXT), sha256: sha256(TEXT) },
      ],
    })
    expect(version.uri).toMatch(new RegExp(`:///${home.entity}/${project}/${runId}-data:v0$`))
    expect(await get('data', 'v0')).toEqual(version)
    expect(await get('data', 'first')).toEqual(version)
  })

  check('createArtifactVersion/gives-the-same-content-the-same-version', async () => {
    const first = await createArtifact('same', upload)
    const again = await createArtifact('same', {
      ...upload,
      version: { ...upload.version, aliases: ['second'], tags: ['new'] },
    })
    expect(again.id).toBe(first.id)
    expect(again).toMatchObject({ version: 'v0', aliases: ['first', 'latest', 'second'] })
    expect(again.tags.toSorted()).toEqual(['new', 'small'])
  })

  check('createArtifactVersion/moves-latest-and-named-aliases', async () => {
    await createArtifact('moving', { ...upload, version: { type: 'dataset', aliases: ['best'] } })
    const second = await createArtifact('moving', {
      files: { a: 'b' },
      version: { type: 'dataset', aliases: ['best'] },
    })
    expect(second).toMatchObject({ version: 'v1', aliases: ['best', 'latest'] })
    expect((await get('moving', 'v0')).aliases).toEqual([])
    expect((await get('moving', 'latest')).version).toBe('v1')
  })

  check('createArtifactVersion/leaves-latest-where-it-is-for-known-content', async () => {
    const first = await createArtifact('known', upload)
    await createArtifact('known', { files: { a: 'b' }, version: { type: 'dataset' } })
    expect((await createArtifact('known', upload)).id).toBe(first.id)
    expect((await get('known', 'latest')).version).toBe('v1')
    expect((await get('known', 'v0')).aliases).toEqual(['first'])
  })

  check('createArtifactVersion/tells-paths-apart-by-letter-case', async () => {
    const files = { 'a.txt': 'lower', 'A.txt': 'upper' }
    await createArtifact('paths-case', { files, version: { type: 'dataset' } })
    for (const [path, text] of Object.entries(files)) expect((await getFile('paths-case', path)).text).toBe(text)
  })

  check('getArtifactFile/follows-an-alias-that-moves', async () => {
    const of = (text: string) => ({ files: { a: text }, version: { type: 'dataset', aliases: ['best'] } })
    const read = async (version: string) =>
      (await client.call('getArtifactFile', { path: { ...at('follows', version).path, path: 'a' } })).text
    for (const text of ['one', 'two']) {
      await createArtifact('follows', of(text))
      expect([await read('best'), await read('latest')]).toEqual([text, text])
    }
    await client.ok('addArtifactAlias', { path: { ...at('follows', 'v0').path, alias: 'best' } })
    expect([await read('best'), await read('latest')]).toEqual(['one', 'two'])
  })

  check('listArtifactVersions/orders-by-number-and-not-by-its-digits', async () => {
    const numbers = Array.from({ length: 12 }, (_, number) => number)
    for (const number of numbers)
      await createArtifact('dozen', { files: { a: String(number) }, version: { type: 'dataset' } })
    const listed = async (order: string) =>
      (await client.ok('listArtifactVersions', { ...at('dozen'), query: { order } })).data.map(one => one.version)
    const names = numbers.map(number => `v${number}`)
    expect(await listed('asc')).toEqual(names)
    expect(await listed('desc')).toEqual(names.toReversed())
  })

  checkEach<[string, Upload]>([
    ['a-path-that-climbs', { files: { '../a': 'x' }, version: { type: 't' } }],
    ['an-absolute-path', { files: { '/a': 'x' }, version: { type: 't' } }],
    ['a-backslash', { files: { 'a\\..\\b': 'x' }, version: { type: 't' } }],
    ['an-alias-like-a-number', { files: { a: 'x' }, version: { type: 't', aliases: ['v7'] } }],
    ['no-file', { files: {}, version: { type: 't' } }],
    ['an-empty-type', { files: { a: 'x' }, version: { type: '' } }],
    ['metadata-that-is-no-object', { files: { a: 'x' }, version: { type: 't', metadata: [] } }],
  ])('createArtifactVersion/refuses-%s', async (_, bad) => {
    await client.refused('createArtifactVersion', 422, { ...at('bad'), form: toForm(bad) })
    expect((await client.ok('listArtifactVersions', at('bad'))).data).toEqual([])
  })

  check('createArtifactVersion/refuses-a-repeated-path-a-missing-part-and-text-that-is-not-json', async () => {
    const twice = toForm({ files: { a: 'x' }, version: { type: 't' } })
    twice.append('files', new File(['y'], 'a'))
    await client.refused('createArtifactVersion', 422, { ...at('bad'), form: twice })
    const without = new FormData()
    without.append('files', new File(['y'], 'a'))
    await client.refused('createArtifactVersion', 422, { ...at('bad'), form: without })
    without.append('version', '{')
    await client.refused('createArtifactVersion', 422, { ...at('bad'), form: without })
  })

  check('getArtifactFile/gives-the-whole-file', async () => {
    await createArtifact('files', upload)
    const { status, text, headers } = await getFile('files', 'trajectories.jsonl')
    expect({ status, text }).toEqual({ status: 200, text: TEXT })
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(TEXT)))
    expect(headers.get('accept-ranges')).toBe('bytes')
    expect((await getFile('files', 'more/metadata.json')).text).toBe('{"rows":1}')
  })

  check('getArtifactFile/takes-plain-slashes', async () => {
    await createArtifact('files', upload)
    const url = `${target.baseUrl}/v1/preview/artifacts/${home.entity}/${project}/${runId}-files/versions/v0/files/more/metadata.json`
    const { status, text } = await client.request(url, { headers: { authorization: `Bearer ${target.apiKey}` } })
    expect({ status, text }).toEqual({ status: 200, text: '{"rows":1}' })
  })

  checkEach<[string, number, number]>([
    ['bytes=0-4', 0, 5],
    ['bytes=7-', 7, Infinity],
    ['bytes=-3', -3, Infinity],
    ['bytes=3-1000000', 3, Infinity],
    ['bytes=-1000000', 0, Infinity],
  ])('getArtifactFile/gives-the-range-%s', async (range, from, to) => {
    await createArtifact('files', upload)
    const whole = Buffer.from(TEXT)
    const { status, bytes, headers } = await getFile('files', 'trajectories.jsonl', range)
    const expected = whole.subarray(from, Math.min(to, whole.length))
    expect(status).toBe(206)
    expect(Buffer.from(bytes).equals(expected)).toBe(true)
    const start = whole.length - whole.subarray(from).length
    expect(headers.get('content-range')).toBe(`bytes ${start}-${start + expected.length - 1}/${whole.length}`)
    expect(headers.get('content-length')).toBe(String(expected.length))
  })

  checkEach([['bytes=0-1,3-4'], ['bytes=5-2'], ['lines=0-1'], ['bytes'], ['bytes=a-b']])(
    'getArtifactFile/ignores-the-range-%s',
    async range => {
      await createArtifact('files', upload)
      expect(await getFile('files', 'trajectories.jsonl', range)).toMatchObject({ status: 200, text: TEXT })
    },
  )

  check('getArtifactFile/refuses-a-range-behind-the-end', async () => {
    await createArtifact('files', upload)
    const { status, headers } = await getFile('files', 'trajectories.jsonl', 'bytes=1000-')
    expect(status).toBe(416)
    expect(headers.get('content-range')).toBe(`bytes */${Buffer.byteLength(TEXT)}`)
  })

  check('getArtifactFile/does-not-find-what-is-not-there', async () => {
    await createArtifact('files', upload)
    expect((await getFile('files', 'nothing')).status).toBe(404)
    const outside = await client.call('getArtifactFile', {
      path: { ...at('files', 'v0').path, path: '../../etc/passwd' },
      bad: true,
    })
    expect(outside.status).toBe(422)
  })

  check('addArtifactAlias/moves-the-alias', async () => {
    await createArtifact('aliases', upload)
    await createArtifact('aliases', { files: { a: 'b' }, version: { type: 'dataset' } })
    const alias = (version: string, name: string) => ({ path: { ...at('aliases', version).path, alias: name } })
    expect((await client.ok('addArtifactAlias', alias('v1', 'first'))).aliases).toEqual(['first', 'latest'])
    expect((await client.ok('addArtifactAlias', alias('first', 'first'))).aliases).toEqual(['first', 'latest'])
    expect((await get('aliases', 'v0')).aliases).toEqual([])
    await client.refused('deleteArtifactAlias', 404, alias('v0', 'first'))
    expect((await client.ok('deleteArtifactAlias', alias('v1', 'first'))).aliases).toEqual(['latest'])
    await client.refused('addArtifactAlias', 422, alias('v1', 'v3'))
    await client.refused('addArtifactAlias', 404, alias('v9', 'first'))
  })

  check('addArtifactTag/leaves-other-tags-and-versions-alone', async () => {
    await createArtifact('tags', upload)
    await createArtifact('tags', { files: { a: 'b' }, version: { type: 'dataset', tags: ['small'] } })
    const tag = (version: string, name: string) => ({ path: { ...at('tags', version).path, tag: name } })
    expect((await client.ok('addArtifactTag', tag('v0', 'reviewed'))).tags).toEqual(['small', 'reviewed'])
    expect((await client.ok('addArtifactTag', tag('first', 'reviewed'))).tags).toEqual(['small', 'reviewed'])
    expect((await client.ok('deleteArtifactTag', tag('v0', 'small'))).tags).toEqual(['reviewed'])
    await client.refused('deleteArtifactTag', 404, tag('v0', 'small'))
    expect((await get('tags', 'v0')).tags).toEqual(['reviewed'])
    expect((await get('tags', 'v1')).tags).toEqual(['small'])
    await client.refused('addArtifactTag', 404, tag('v9', 'reviewed'))
    await client.refused('deleteArtifactTag', 404, tag('v9', 'reviewed'))
  })

  check('listArtifactVersions/follows-the-laws-of-pages', async () => {
    for (const content of ['1', '2', '3', '4', '5'])
      await createArtifact('pages', { files: { a: content }, version: { type: 't' } })
    await checkPages('listArtifactVersions', at('pages'), 5)
  })

  check('deleteArtifactVersion/frees-the-aliases-but-never-the-number', async () => {
    await createArtifact('gone', upload)
    await createArtifact('gone', { files: { a: 'b' }, version: { type: 'dataset' } })
    expect(await client.ok('deleteArtifactVersion', at('gone', 'latest'))).toMatchObject({
      version: 'v1',
      deleted: true,
    })
    await client.refused('getArtifactVersion', 404, at('gone', 'v1'))
    await client.refused('deleteArtifactVersion', 404, at('gone', 'v1'))
    expect((await get('gone', 'latest')).version).toBe('v0')
    expect((await createArtifact('gone', { files: { a: 'c' }, version: { type: 'dataset' } })).version).toBe('v2')
  })

  check('deleteArtifactVersion/keeps-contents-that-another-version-has', async () => {
    await createArtifact('shared', upload)
    await createArtifact('shared', { ...upload, version: { type: 'other' } })
    await client.ok('deleteArtifactVersion', at('shared', 'v1'))
    expect((await getFile('shared', 'trajectories.jsonl')).text).toBe(TEXT)
  })

  check('deleteArtifactVersion/refuses-a-checkpoint-of-a-model', async () => {
    const model = await createModel('in-use')
    const path = { entity: home.entity, project, name: model.name, version: 'step0' }
    await client.refused('deleteArtifactVersion', 400, { path })
    expect((await client.ok('getArtifactVersion', { path })).type).toBe('lora')
  })

  check('artifacts/of-a-foreign-team-are-403', { source: '/info/description#Errors' }, async () => {
    const path = { entity: foreignTeam, project, name: 'a', version: 'v0' }
    const alias = { ...path, alias: 'x' }
    for (const id of ['listArtifactVersions', 'getArtifactVersion', 'deleteArtifactVersion'] as const)
      await client.refused(id, 403, { path })
    for (const id of ['addArtifactAlias', 'deleteArtifactAlias'] as const)
      await client.refused(id, 403, { path: alias })
    for (const id of ['addArtifactTag', 'deleteArtifactTag'] as const)
      await client.refused(id, 403, { path: { ...path, tag: 'x' } })
    await client.refused('getArtifactFile', 403, { path: { ...path, path: 'a' } })
    await client.refused('createArtifactVersion', 403, { path, form: toForm(upload) })
    if (!target.secondApiKey) return
    await createArtifact('private', upload)
    await client.refused('getArtifactVersion', 403, { ...at('private', 'v0'), as: { bearer: target.secondApiKey } })
  })

  check('createArtifactVersion/takes-a-file-of-several-megabytes', async () => {
    const bytes = new Uint8Array(3 * 1024 * 1024).map((_, index) => index % 251)
    const version = await createArtifact('large', { files: { 'a.bin': bytes }, version: { type: 'bytes' } })
    expect(version.files).toEqual([
      { path: 'a.bin', size_bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') },
    ])
    const { bytes: read } = await getFile('large', 'a.bin')
    expect(Buffer.from(read).equals(bytes)).toBe(true)
  })

  check('createArtifactVersion/gives-parallel-uploads-one-version', async () => {
    const options = () => ({ ...at('parallel'), form: toForm(upload) })
    const versions = await Promise.all([1, 2, 3, 4].map(() => client.ok('createArtifactVersion', options())))
    expect(new Set(versions.map(version => version.id)).size).toBe(1)
  })
})
