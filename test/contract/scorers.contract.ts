import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { checkPages } from './pages.ts'
import { client, foreignTeam, home, project, runId, target, unknownId } from './setup.ts'

const HOUR_MS = 3_600_000

section('Scorers, which a mock does not keep', { needs: ['memory'] }, () => {
  const space = (inside = project) => ({ entity: home.entity, project: inside })
  const named = (name: string) => ({ ...space(), object_id: `${runId}-${name}` })

  async function createScorer(name: string, content: object = {}, inside = project) {
    const object_id = `${runId}-${name}`
    return client.ok('createScorer', { path: space(inside), body: { object_id, ...content } })
  }

  const remove = (name: string, query: Record<string, string | string[]> = {}, body?: string[]) =>
    client.ok('deleteScorer', { path: named(name), query, ...(body ? { body } : {}) })

  async function createVersions(name: string, count: number): Promise<string[]> {
    const digests: string[] = []
    for (let index = 0; index < count; index++) digests.push((await createScorer(name, { index })).digest)
    return digests
  }

  async function isThere(name: string, digest: string): Promise<boolean> {
    return (await client.call('getScorer', { path: { ...named(name), digest } })).status === 200
  }

  check('createScorer/keeps-every-key', async () => {
    const scorer = await createScorer('kept', {
      name: 'Kept',
      score_op: { type: 'exact', values: [1, null] },
      digest: 'mine',
      version_index: 9,
    })
    expect(scorer).toMatchObject({
      version_index: 0,
      name: 'Kept',
      description: null,
      score_op: { type: 'exact', values: [1, null] },
    })
    expect(scorer.digest).not.toBe('mine')
    expect(await client.ok('getScorer', { path: { ...named('kept'), digest: scorer.digest } })).toEqual(scorer)
  })

  check(
    'createScorer/is-named-after-its-object-where-no-name-is-given',
    { source: '/components/schemas/CreateScorerRequest/properties/name/description' },
    async () => {
      for (const [number, more] of [{}, { name: null }].entries())
        expect((await createScorer(`unnamed-${number}`, more)).name).toBe(`${runId}-unnamed-${number}`)
    },
  )

  check('createScorer/keeps-what-is-null-empty-or-odd', async () => {
    const odd = { mine: null, empty: {}, none: [], text: '', zero: 0, no: false, Mine: 'other', 'a b': '  spaces  ' }
    const scorer = await createScorer('odd', { ...odd, name: '  two  blanks ' })
    expect(scorer).toMatchObject({ ...odd, name: '  two  blanks ' })
    expect(await client.ok('getScorer', { path: { ...named('odd'), digest: scorer.digest } })).toEqual(scorer)
  })

  check(
    'createScorer/ignores-an-id-and-a-time-of-the-caller',
    { source: '/components/schemas/CreateScorerRequest/description' },
    async () => {
      const scorer = await createScorer('claims', { id: unknownId, created_at: '2001-01-01T00:00:00.000Z' })
      expect(scorer.id).not.toBe(unknownId)
      expect(scorer.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(Math.abs(Date.parse(scorer.created_at) - Date.now())).toBeLessThan(HOUR_MS)
      expect(await client.ok('getScorer', { path: { ...named('claims'), digest: scorer.digest } })).toEqual(scorer)
    },
  )

  check(
    'createScorer/counts-versions-in-each-project-by-itself',
    { needs: ['own-project'], source: '/components/parameters/Project/description' },
    async () => {
      const other = `${runId}-twin`
      const first = await createScorer('twin', { a: 1 })
      const second = await createScorer('twin', { a: 1 }, other)
      expect([first.version_index, second.version_index]).toEqual([0, 0])
      expect(second.id).not.toBe(first.id)
      const path = { ...space(other), object_id: second.object_id }
      expect(await client.ok('deleteScorer', { path })).toEqual({ num_deleted: 1 })
      await client.refused('getScorer', 404, { path: { ...path, digest: second.digest } })
      expect(await client.ok('getScorer', { path: { ...named('twin'), digest: first.digest } })).toEqual(first)
    },
  )

  check(
    'createScorer/never-gives-a-number-twice',
    { source: '/components/schemas/Scorer/properties/version_index/description' },
    async () => {
      const digests = await createVersions('numbers', 3)
      await remove('numbers', { digests: digests.slice(0, 2) })
      expect((await createScorer('numbers', { index: 'new' })).version_index).toBe(3)
    },
  )

  check('createScorer/gives-the-same-content-the-same-version', async () => {
    const first = await createScorer('same', { a: 1, b: 2 })
    expect(await createScorer('same', { b: 2, a: 1 })).toEqual(first)
    const second = await createScorer('same', { a: 1, b: 3 })
    expect(second.version_index).toBe(1)
    expect(second.digest).not.toBe(first.digest)
  })

  check('deleteScorer/without-digests-deletes-all-versions', async () => {
    const digests = await createVersions('all', 3)
    expect(await remove('all')).toEqual({ num_deleted: 3 })
    for (const digest of digests) expect(await isThere('all', digest)).toBe(false)
    await client.refused('deleteScorer', 404, { path: named('all') })
  })

  check('deleteScorer/deletes-the-given-digests-in-every-form', async () => {
    const [a, b, c, d, e, f, g] = (await createVersions('forms', 7)) as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ]
    expect(await remove('forms', { digests: [a, b, a] })).toEqual({ num_deleted: 2 })
    expect(await remove('forms', { digests: `${c},${d}` })).toEqual({ num_deleted: 2 })
    expect(await remove('forms', { 'digests[]': e })).toEqual({ num_deleted: 1 })
    expect(await remove('forms', {}, [f])).toEqual({ num_deleted: 1 })
    const [h, i] = (await createVersions('both', 2)) as [string, string]
    expect(await remove('both', { digests: h }, [i])).toEqual({ num_deleted: 2 })
    expect(await isThere('forms', g)).toBe(true)
    expect(await remove('forms', { digests: '' })).toEqual({ num_deleted: 1 })
  })

  check('deleteScorer/is-all-or-nothing', async () => {
    const [a, b] = (await createVersions('nothing', 2)) as [string, string]
    await client.refused('deleteScorer', 404, { path: named('nothing'), query: { digests: [a, 'no-such-digest'] } })
    expect([await isThere('nothing', a), await isThere('nothing', b)]).toEqual([true, true])
    await remove('nothing', { digests: a })
    await client.refused('deleteScorer', 404, { path: named('nothing'), query: { digests: [a, b] } })
    expect(await isThere('nothing', b)).toBe(true)
  })

  check('deleteScorer/takes-at-most-100-digests', async () => {
    const digests = Array.from({ length: 101 }, (_, index) => `d${index}`)
    await client.refused('deleteScorer', 422, { path: named('many'), query: { digests } })
    await client.refused('deleteScorer', 422, { path: named('many'), body: digests })
    await client.refused('deleteScorer', 404, { path: named('many'), query: { digests: digests.slice(1) } })
  })

  check('createScorer/makes-a-new-version-of-deleted-content', async () => {
    const first = await createScorer('revived', { a: 1 })
    await remove('revived')
    const second = await createScorer('revived', { a: 1 })
    expect(second.version_index).toBe(1)
    expect(second.id).not.toBe(first.id)
  })

  check('listScorers/follows-the-laws-of-pages', { needs: ['own-project'] }, async () => {
    for (let index = 0; index < 5; index++) await createScorer('listed', { index }, `${runId}-list`)
    await checkPages('listScorers', { path: space(`${runId}-list`) }, 5)
    await client.ok('deleteScorer', { path: { ...space(`${runId}-list`), object_id: `${runId}-listed` } })
    expect((await client.ok('listScorers', { path: space(`${runId}-list`) })).data).toEqual([])
  })

  check('scorers/take-bearer-as-well', { source: '/info/description#Authentication' }, async () => {
    const as = { bearer: target.apiKey }
    const { digest } = await createScorer('bearer')
    await client.ok('getScorer', { path: { ...named('bearer'), digest }, as })
    await client.ok('listScorers', { path: space(), as })
    await client.ok('createScorer', { path: space(), body: { object_id: `${runId}-bearer` }, as })
    await client.ok('deleteScorer', { path: named('bearer'), as })
  })

  check('scorers/do-not-depend-on-the-user-name', { source: '/info/description#Authentication' }, async () => {
    const password = target.basic.slice(target.basic.indexOf(':') + 1)
    for (const user of ['api', '', 'someone else'])
      await client.ok('listScorers', { path: space(), as: { basic: `${user}:${password}` } })
  })

  check('scorers/of-a-foreign-team-are-403', { source: '/info/description#Errors' }, async () => {
    const path = { entity: foreignTeam, project: runId, object_id: 'a', digest: 'b' }
    for (const id of ['listScorers', 'deleteScorer', 'getScorer'] as const) await client.refused(id, 403, { path })
    await client.refused('createScorer', 403, { path, body: { object_id: 'a' } })
  })

  check('deleteScorer/refuses-a-digest-of-another-scorer', async () => {
    const { digest } = await createScorer('mine', { of: 'mine' })
    await createScorer('other', { of: 'other' })
    await client.refused('deleteScorer', 404, { path: named('other'), query: { digests: digest } })
    expect(await isThere('mine', digest)).toBe(true)
  })

  check(
    'getScorer/does-not-find-a-digest-of-another-scorer',
    { source: '/components/schemas/ScorerDigest/description' },
    async () => {
      const { digest } = await createScorer('owner', { of: 'owner' })
      await createScorer('stranger', { of: 'stranger' })
      await client.refused('getScorer', 404, { path: { ...named('stranger'), digest } })
    },
  )

  check('getScorer/does-not-find-another-digest', async () => {
    await createScorer('found')
    await client.refused('getScorer', 404, { path: { ...named('found'), digest: 'no-such-digest' } })
  })
})
