import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { checkPages } from './pages.ts'
import { client, createArtifact, createModel, foreignTeam, home, project, runId, target, uriOf } from './setup.ts'

section('Registries, which a mock does not keep', { needs: ['memory'] }, () => {
  const at = (collection: string) => ({ path: { entity: home.entity, registry: runId, collection } })
  const link = (collection: string, artifact: string) =>
    client.ok('createRegistryLink', { ...at(collection), body: { artifact } })
  const createVersion = (name: string, content: string) =>
    createArtifact(name, { files: { a: content }, version: { type: 'dataset' } })

  check('createRegistryLink/links-the-version-that-the-uri-names-now', async () => {
    const version = await createVersion('linked', 'one')
    const made = await link('data', version.uri.replace(/v0$/, 'latest'))
    expect(made).toMatchObject({
      ...at('data').path,
      artifact: version.uri,
      version_id: version.id,
      created_by: expect.stringMatching(/./),
    })
    await createVersion('linked', 'two')
    expect((await client.ok('listRegistryLinks', at('data'))).data).toEqual([made])
  })

  check('createRegistryLink/gives-the-link-that-is-there', async () => {
    const version = await createVersion('twice', 'one')
    const first = await link('twice', version.uri)
    expect(await link('twice', version.uri.replace(/:v0$/, ''))).toEqual(first)
    const elsewhere = await link('twice-more', version.uri)
    expect(elsewhere.id).not.toBe(first.id)
    expect((await client.ok('listRegistryLinks', at('twice'))).data).toEqual([first])
  })

  check('createRegistryLink/takes-checkpoints', async () => {
    const model = await createModel('linked-model')
    expect((await link('models', uriOf(model, ':step0'))).artifact).toBe(uriOf(model, ':v0'))
  })

  check('createRegistryLink/refuses-what-leads-nowhere', async () => {
    const refuse = (status: number, artifact: string) =>
      client.refused('createRegistryLink', status, { ...at('none'), body: { artifact } })
    for (const uri of ['nothing', 'https://example.com/a/b/c', uriOf(home, ':a:b')]) {
      expect(await refuse(422, uri)).toMatchObject({ detail: [{ loc: ['body', 'artifact'] }] })
    }
    expect((await refuse(400, uriOf(home, ':v99'))).error.param).toBe('artifact')
    await refuse(400, uriOf({ ...home, name: `${runId}-none` }))
    await refuse(404, uriOf({ ...home, entity: foreignTeam }))
    expect((await client.ok('listRegistryLinks', at('none'))).data).toEqual([])
  })

  check(
    'createRegistryLink/takes-the-newest-version-where-the-uri-names-none',
    { source: '/components/schemas/CreateRegistryLinkRequest/properties/artifact/description' },
    async () => {
      const first = await createVersion('newest', 'one')
      const second = await createVersion('newest', 'two')
      const made = await link('newest', first.uri.replace(/:v0$/, ''))
      expect(made).toMatchObject({ artifact: second.uri, version_id: second.id })
    },
  )

  check('listRegistryLinks/comes-in-the-order-in-which-they-were-linked', async () => {
    const versions = [await createVersion('ordered', 'one'), await createVersion('ordered', 'two')].toReversed()
    for (const { uri } of versions) await link('ordered', uri)
    const linked = (await client.ok('listRegistryLinks', at('ordered'))).data.map(({ version_id }) => version_id)
    expect(linked).toEqual(versions.map(({ id }) => id))
  })

  check(
    'listRegistryLinks/tells-collections-of-one-name-apart',
    { source: '/components/parameters/Collection/description' },
    async () => {
      const made = await link('apart', (await createVersion('apart', 'one')).uri)
      const elsewhere = { path: { ...at('apart').path, registry: `${runId}-other` } }
      expect((await client.ok('listRegistryLinks', elsewhere)).data).toEqual([])
      expect((await client.ok('listRegistryLinks', at('apart'))).data).toEqual([made])
    },
  )

  check('listRegistryLinks/follows-the-laws-of-pages', async () => {
    for (const content of ['1', '2', '3', '4', '5']) await link('pages', (await createVersion('many', content)).uri)
    await checkPages('listRegistryLinks', at('pages'), 5)
  })

  check('deleteArtifactVersion/takes-its-links-along', async () => {
    const version = await createVersion('unlinked', 'one')
    await link('gone', version.uri)
    const path = { entity: home.entity, project, name: `${runId}-unlinked`, version: 'v0' }
    await client.ok('deleteArtifactVersion', { path })
    expect((await client.ok('listRegistryLinks', at('gone'))).data).toEqual([])
  })

  check('registries/of-a-foreign-team-are-403', { source: '/info/description#Errors' }, async () => {
    const path = { entity: foreignTeam, registry: runId, collection: 'a' }
    const body = { artifact: uriOf(home) }
    await client.refused('listRegistryLinks', 403, { path })
    await client.refused('createRegistryLink', 403, { path, body })
    if (!target.secondApiKey) return
    const as = { bearer: target.secondApiKey }
    await client.refused('listRegistryLinks', 403, { ...at('data'), as })
    await client.refused('createRegistryLink', 403, { ...at('data'), body, as })
  })
})
