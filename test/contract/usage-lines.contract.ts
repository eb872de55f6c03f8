/** What a line of usage says besides its sums. Each check has a model of its own, so that nobody else's lines are among those it reads. */
import { expect } from 'vitest'
import { check, SkipError, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { client, createModel, home, runId, uriOf } from './setup.ts'

const LINE = '/components/schemas/UsageLine/properties'
const DAY_MS = 86_400_000
const messages = [{ role: 'user', content: 'Say hello.' }]

section('Lines of usage, which a mock does not count', { needs: ['memory'] }, () => {
  const newModel = async (name: string) => uriOf(await createModel(`usage-${name}`))
  const newKey = (name: string) =>
    client.ok('createApiKey', { body: { name: `${runId}-usage-${name}`, team: home.entity } })
  const linesOf = async (model: string) =>
    (await client.ok('getUsage', { query: { entity: home.entity, model, limit: 100 } })).data

  function complete(
    model: string,
    more: object = {},
    project?: string,
    key?: string,
  ): Promise<Success<'createChatCompletion'>> {
    return client.ok('createChatCompletion', {
      body: { model, messages, temperature: 1, seed: 5, max_completion_tokens: 4, ...more },
      ...(project === undefined ? {} : { headers: { 'vendor-project': `${home.entity}/${project}` } }),
      ...(key === undefined ? {} : { as: { bearer: key } }),
    })
  }

  check('getUsage/counts-for-no-project-where-none-is-named', { source: `${LINE}/project/description` }, async () => {
    const model = await newModel('null')
    const { id, key } = await newKey('null')
    await complete(model, {}, undefined, key)
    const counted = { entity: home.entity, project: null, model, api_key_id: id, requests: 1 }
    expect(await linesOf(model)).toMatchObject([counted])
  })

  check('getUsage/tells-the-day-of-the-requests', { source: `${LINE}/day/description` }, async () => {
    const model = await newModel('day')
    await complete(model)
    const now = Date.now()
    const days = [-1, 0, 1].map(offset => new Date(now + offset * DAY_MS).toISOString().slice(0, 'YYYY-MM-DD'.length))
    const told = (await linesOf(model)).map(({ day }) => day)
    expect(told).toHaveLength(1)
    expect(days).toContain(told[0])
  })

  check('getUsage/keeps-the-lines-of-a-deleted-key', async () => {
    const model = await newModel('kept')
    const { id, key } = await newKey('kept')
    await complete(model, {}, undefined, key)
    const lines = await linesOf(model)
    expect(lines.map(line => line.api_key_id)).toEqual([id])
    await client.ok('deleteApiKey', { path: { api_key_id: id } })
    expect(await linesOf(model)).toEqual(lines)
  })

  check('getUsage/comes-in-the-order-in-which-lines-were-begun', { needs: ['own-project'] }, async () => {
    const model = await newModel('order')
    const projects = ['z', 'a', 'm'].map(name => `${runId}-usage-${name}`)
    for (const project of projects) await complete(model, {}, project)
    const begun = (lines: { project: string | null }[]) => [...new Set(lines.map(({ project }) => project))]
    expect(begun(await linesOf(model))).toEqual(projects)
    await complete(model, {}, projects[1])
    expect(begun(await linesOf(model)), 'a line that grows stays where it is').toEqual(projects)
  })

  check(
    'getUsage/counts-the-cached-tokens-that-the-replies-tell',
    { source: `${LINE}/cached_tokens/description` },
    async () => {
      const model = await newModel('cached')
      const long = [{ role: 'user', content: `${'hello '.repeat(100)}${runId}` }]
      let told = 0
      for (const n of [1, 1, 2]) {
        const { usage } = await complete(model, { messages: long, n })
        const cached = usage?.prompt_tokens_details?.cached_tokens
        if (typeof cached !== 'number') throw new SkipError('the replies do not tell how many tokens were cached')
        told += cached
      }
      const counted = (await linesOf(model)).reduce((sum, line) => sum + line.cached_tokens, 0)
      expect(counted).toBe(told)
    },
  )
})
