/** Artifacts at the edges of what is allowed: names, paths, forms of an upload and ranges of a file. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { CallOptions } from '../../src/contract/client.ts'
import { client, createArtifact, home, project, runId, toForm } from './setup.ts'

/** As they would be confused by whoever decodes, folds or trims them. */
const ODD_PATHS: Record<string, string> = {
  'dätä/ü 🚂.txt': 'letters',
  'a+b &c.txt': 'signs',
  '100%.txt': 'percent',
  '%41.txt': 'encoded',
  'A.txt': 'plain',
}
const TEXT = 'twelve bytes'
const BOUNDARY = 'the-boundary-of-the-parts'

section('Odd artifacts, which a mock does not keep', { needs: ['memory'] }, () => {
  const at = (name: string, version?: string) => {
    const path = { entity: home.entity, project, name: `${runId}-${name}` }
    return { path: version === undefined ? path : { ...path, version } }
  }
  const of = (content: string, version: object = {}) => ({
    files: { a: content },
    version: { type: 'dataset', ...version },
  })
  const get = (name: string, version: string) => client.ok('getArtifactVersion', at(name, version))
  const getFile = (name: string, path: string, range?: string, version = 'v0') =>
    client.call('getArtifactFile', {
      path: { ...at(name, version).path, path },
      headers: range === undefined ? {} : { range },
    })

  /** A form written by hand, because `FormData` gives each part with a content type a file name as well. */
  const toRaw = (version: object): Pick<CallOptions, 'raw' | 'headers'> => ({
    raw: new TextEncoder().encode(
      [
        ...[`--${BOUNDARY}`, 'Content-Disposition: form-data; name="version"', 'Content-Type: application/json'],
        ...['', JSON.stringify(version), `--${BOUNDARY}`],
        ...['Content-Disposition: form-data; name="files"; filename="a"', 'Content-Type: application/octet-stream'],
        ...['', TEXT, `--${BOUNDARY}--`, ''],
      ].join('\r\n'),
    ),
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  })

  const uploadOdd = () => createArtifact('odd-paths', { files: ODD_PATHS, version: { type: 'dataset' } })

  check('createArtifactVersion/keeps-file-paths-as-they-were-sent', async () => {
    const { files } = await uploadOdd()
    expect(files.map(({ path }) => path).toSorted()).toEqual(Object.keys(ODD_PATHS).toSorted())
  })

  check('getArtifactFile/gives-the-file-of-the-very-path', async () => {
    await uploadOdd()
    for (const [path, text] of Object.entries(ODD_PATHS)) {
      const reply = await getFile('odd-paths', path)
      expect({ path, status: reply.status, text: reply.text }).toEqual({ path, status: 200, text })
    }
  })

  check(
    'createArtifactVersion/takes-names-beyond-ascii',
    { source: '/components/schemas/ResourceName/description' },
    async () => {
      const name = "dätä ö+&;=@' 🚂.x"
      const made = await createArtifact(name, of('one'))
      expect(made.name).toBe(`${runId}-${name}`)
      expect(await get(name, 'v0')).toEqual(made)
      const path = { entity: home.entity, registry: runId, collection: 'odd' }
      const linked = await client.ok('createRegistryLink', { path, body: { artifact: made.uri } })
      expect(linked).toMatchObject({ artifact: made.uri, version_id: made.id })
    },
  )

  check(
    'createArtifactVersion/takes-the-files-before-the-version',
    { source: '/components/schemas/CreateArtifactVersionRequest/description' },
    async () => {
      const form = new FormData()
      form.append('files', new File([TEXT], 'a'))
      form.append('version', JSON.stringify({ type: 'late' }))
      const made = await client.ok('createArtifactVersion', { ...at('files-first'), form })
      expect(made).toMatchObject({ version: 'v0', type: 'late', files: [{ path: 'a' }] })
    },
  )

  check(
    'createArtifactVersion/takes-a-version-part-that-is-said-to-be-json',
    { source: '/components/schemas/NewArtifactVersion/description' },
    async () => {
      const version = { type: 'typed', tags: ['one'] }
      const made = await client.ok('createArtifactVersion', { ...at('json-part'), ...toRaw(version) })
      expect(made).toMatchObject({ ...version, version: 'v0', files: [{ path: 'a', size_bytes: TEXT.length }] })
    },
  )

  check(
    'createArtifactVersion/fills-in-the-defaults',
    { source: '/components/schemas/NewArtifactVersion/properties/type/default' },
    async () => {
      const made = await createArtifact('defaults', { files: { a: TEXT }, version: {} })
      const defaults = { type: 'dataset', metadata: {}, tags: [] }
      expect(made).toMatchObject({ ...defaults, aliases: ['latest'] })
      expect(made.metadata).toEqual({})
      const again = await createArtifact('defaults', { files: { a: TEXT }, version: { ...defaults, aliases: [] } })
      expect(again).toEqual(made)
    },
  )

  check('createArtifactVersion/moves-an-alias-to-known-content', async () => {
    await createArtifact('known-alias', of('one'))
    await createArtifact('known-alias', of('two', { aliases: ['best'] }))
    const again = await createArtifact('known-alias', of('one', { aliases: ['best'] }))
    expect(again).toMatchObject({ version: 'v0', aliases: ['best'] })
    expect((await get('known-alias', 'best')).version).toBe('v0')
    expect((await get('known-alias', 'v1')).aliases).toEqual(['latest'])
  })

  check('deleteArtifactVersion/leaves-nothing-that-the-same-content-revives', async () => {
    const name = 'revived'
    const first = await createArtifact(name, of('one', { aliases: ['kept'] }))
    expect((await getFile(name, 'a', undefined, 'kept')).text).toBe('one')
    await client.ok('deleteArtifactVersion', at(name, 'v0'))
    expect((await client.ok('listArtifactVersions', at(name))).data).toEqual([])
    const again = await createArtifact(name, of('one'))
    expect(again).toMatchObject({ version: 'v1', aliases: ['latest'], digest: first.digest })
    expect(again.id).not.toBe(first.id)
    for (const version of ['v0', 'kept']) {
      await client.refused('getArtifactVersion', 404, at(name, version))
      expect((await getFile(name, 'a', undefined, version)).status, version).toBe(404)
    }
    expect((await getFile(name, 'a', undefined, 'v1')).text).toBe('one')
  })

  const uploadRanged = () => createArtifact('ranged', { files: { a: TEXT, empty: '' }, version: { type: 'dataset' } })

  checkEach<[string, string, string, number]>([
    ['that-starts-at-the-end', 'a', `bytes=${TEXT.length}-`, TEXT.length],
    ['of-no-byte-from-the-end', 'a', 'bytes=-0', TEXT.length],
    ['from-the-start-of-an-empty-file', 'empty', 'bytes=0-', 0],
    ['from-the-end-of-an-empty-file', 'empty', 'bytes=-1', 0],
  ])('getArtifactFile/refuses-a-range-%s', async (_, path, range, size) => {
    await uploadRanged()
    const { status, headers } = await getFile('ranged', path, range)
    expect({ status, range: headers.get('content-range') }).toEqual({ status: 416, range: `bytes */${size}` })
  })

  check('getArtifactFile/gives-the-last-byte', async () => {
    await uploadRanged()
    const last = TEXT.length - 1
    const { status, text, headers } = await getFile('ranged', 'a', `bytes=${last}-`)
    expect({ status, text }).toEqual({ status: 206, text: TEXT.slice(last) })
    expect(headers.get('content-range')).toBe(`bytes ${last}-${last}/${TEXT.length}`)
  })

  check('getArtifactFile/gives-an-empty-file', async () => {
    const { files } = await uploadRanged()
    expect(files).toContainEqual(expect.objectContaining({ path: 'empty', size_bytes: 0 }))
    const { status, bytes, headers } = await getFile('ranged', 'empty')
    expect({ status, length: bytes.length }).toEqual({ status: 200, length: 0 })
    expect(headers.get('content-length')).toBe('0')
  })

  checkEach<[string, string]>([
    ['two-slashes', 'a//b'],
    ['a-dot-at-its-start', './a'],
    ['a-dot-within', 'a/./b'],
    ['two-dots-within', 'a/../b'],
    ['a-slash-at-its-end', 'a/'],
  ])(
    'createArtifactVersion/refuses-a-path-with-%s',
    () => ({ source: '/components/schemas/ArtifactFilePath/description' }),
    async (what, path) => {
      const form = toForm({ files: { [path]: 'x' }, version: { type: 't' } })
      await client.refused('createArtifactVersion', 422, { ...at(what), form })
      expect((await client.ok('listArtifactVersions', at(what))).data).toEqual([])
    },
  )
})
