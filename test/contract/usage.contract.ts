import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { streamChat } from './chat-stream.ts'
import { checkPages } from './pages.ts'
import { client, createModel, foreignTeam, home, runId, target, uriOf } from './setup.ts'

type Line = Success<'getUsage'>['data'][number]
type Tokens = { prompt_tokens?: number; completion_tokens?: number } | null | undefined

const LINE = '/components/schemas/UsageLine/properties/prompt_tokens/description'
const KEY = '/components/schemas/UsageLine/properties/api_key_id/description'
const HEADER = '/components/parameters/ProjectHeader/description'
const base = { messages: [{ role: 'user', content: 'Say hello.' }], temperature: 1, seed: 5, max_completion_tokens: 6 }

section('Usage, which a mock does not count', { needs: ['memory', 'own-project'] }, () => {
  const header = (project: string) => ({ 'vendor-project': `${home.entity}/${project}` })
  const readUsage = async (query: Record<string, string>) =>
    (await client.ok('getUsage', { query: { entity: home.entity, limit: 100, ...query } })).data

  async function complete(project: string, more: object = {}): Promise<Tokens> {
    const body = { ...base, model: target.baseModel, ...more }
    return (await client.ok('createChatCompletion', { body, headers: header(project) })).usage
  }

  async function stream(project: string, more: object = {}): Promise<Tokens> {
    const body = { ...base, model: target.baseModel, stream_options: { include_usage: true }, ...more }
    return (await streamChat(body, { headers: header(project) })).chunks.at(-1)!.usage
  }

  const sum = (items: readonly Tokens[], key: keyof NonNullable<Tokens>) =>
    items.reduce((total, item) => total + (item?.[key] ?? 0), 0)

  check('getUsage/adds-up-to-the-usage-of-the-replies', async () => {
    const project = `${runId}-sums`
    const replies = [await complete(project), await complete(project, { n: 2 }), await stream(project, { n: 2 })]
    const lines = await readUsage({ project })
    expect(lines.every(line => line.project === project && line.entity === home.entity)).toBe(true)
    expect(new Set(lines.map(line => line.api_key_id)).size, 'all with one key').toBe(1)
    const total = (key: 'requests' | 'prompt_tokens' | 'completion_tokens' | 'cached_tokens') =>
      lines.reduce((all, line) => all + line[key], 0)
    expect(total('requests')).toBe(3)
    expect(total('prompt_tokens')).toBe(sum(replies, 'prompt_tokens'))
    expect(total('completion_tokens')).toBe(sum(replies, 'completion_tokens'))
    expect(total('cached_tokens')).toBeLessThanOrEqual(total('prompt_tokens'))
  })

  check('getUsage/counts-cached-prompts-in-lines-that-keep-their-ids', { source: LINE }, async () => {
    const project = `${runId}-cached`
    const messages = [{ role: 'user', content: `${'hello '.repeat(100)}${runId}` }]
    const replies: Tokens[] = []
    const ids: (string | undefined)[] = []
    for (let time = 0; time < 3; time++) {
      replies.push(await complete(project, { messages }))
      const lines = await readUsage({ project })
      expect(lines[0]).toMatchObject({ requests: time + 1, prompt_tokens: sum(replies, 'prompt_tokens') })
      ids.push(lines[0]?.id)
    }
    expect(new Set(ids).size).toBe(1)
    expect(new Set(replies.map(usage => usage?.prompt_tokens)).size, 'the same prompt').toBe(1)
  })

  check('getUsage/has-a-line-for-each-key', { source: KEY }, async () => {
    const project = `${runId}-keys`
    const body = { ...base, model: target.baseModel }
    const ids: string[] = []
    for (const name of ['one', 'two']) {
      const { id, key } = await client.ok('createApiKey', { body: { name: `${runId}-${name}`, team: home.entity } })
      ids.push(id)
      for (let time = 0; time < 2; time++)
        await client.ok('createChatCompletion', { body, headers: header(project), as: { bearer: key } })
    }
    const lines = await readUsage({ project })
    const requests = Object.fromEntries(ids.map(id => [id, 2]))
    const counted: Record<string, number> = {}
    for (const line of lines) counted[line.api_key_id] = (counted[line.api_key_id] ?? 0) + line.requests
    expect(counted).toEqual(requests)
  })

  check('getUsage/counts-for-the-vendors-header-where-both-are-sent', { source: HEADER }, async () => {
    const [ours, other] = [`${runId}-vendor`, `${runId}-openai`]
    const openai = { 'openai-project': `${home.entity}/${other}` }
    const body = { ...base, model: target.baseModel }
    await client.ok('createChatCompletion', { body, headers: { ...header(ours), ...openai } })
    const requests = async (project: string) => (await readUsage({ project })).map(line => line.requests)
    expect([await requests(ours), await requests(other)]).toEqual([[1], []])
    await client.ok('createChatCompletion', { body, headers: openai })
    expect([await requests(ours), await requests(other)]).toEqual([[1], [1]])
  })

  check('getUsage/counts-nothing-for-what-was-refused', async () => {
    const project = `${runId}-refused`
    const headers = header(project)
    const body = { ...base, model: target.baseModel }
    await client.refused('createChatCompletion', 422, { body: { ...body, temperature: -1 }, headers })
    await client.refused('createChatCompletion', 422, { body: { ...body, max_completion_tokens: 1e8 }, headers })
    await client.refused('createChatCompletion', 404, { body: { ...body, model: `${runId}-none` }, headers })
    expect(await readUsage({ project })).toEqual([])
  })

  check('getUsage/counts-what-a-client-got-that-left', async () => {
    const project = `${runId}-left`
    const leave = new AbortController()
    const body = { ...base, model: target.baseModel, temperature: 2, max_completion_tokens: 500, stream: true }
    const options = { body, headers: header(project), signal: leave.signal }
    await (await client.open('createChatCompletion', options)).body!.getReader().read()
    leave.abort()
    const lines = await readUsage({ project })
    expect(lines.reduce((all, line) => all + line.requests, 0)).toBe(1)
    expect(lines.reduce((all, line) => all + line.prompt_tokens, 0)).toBeGreaterThan(0)
  })

  check('getUsage/tells-models-apart-and-takes-any-form-of-their-names', async () => {
    const project = `${runId}-models`
    const uri = uriOf(home)
    for (const model of [target.baseModel, uri, `${uri}:step0`]) await complete(project, { model })
    const requests = (lines: Line[], model: string) =>
      lines.filter(line => line.model === model).reduce((all, line) => all + line.requests, 0)
    const lines = await readUsage({ project })
    expect([requests(lines, target.baseModel), requests(lines, uri)]).toEqual([1, 2])
    for (const model of [uri, `${uri}:latest`]) {
      expect(await readUsage({ project, model })).toEqual(lines.filter(line => line.model === uri))
    }
    expect(await readUsage({ project, model: `${runId}-none` })).toEqual([])
  })

  check('getUsage/is-narrowed-by-days-both-included', async () => {
    const project = `${runId}-days`
    await complete(project)
    const lines = await readUsage({ project })
    const { day } = lines[0]!
    expect(await readUsage({ project, from: day, to: day })).toEqual(lines.filter(line => line.day === day))
    expect(await readUsage({ project, to: '2001-01-01' })).toEqual([])
    expect(await readUsage({ project, from: '9999-12-31' })).toEqual([])
    const query = { from: '2026-02-02', to: '2026-02-01' }
    const refusal = await client.refused('getUsage', 422, { query })
    expect(refusal.detail).toMatchObject([{ loc: ['query', 'from'] }])
    for (const value of ['2026-02-30', '2026-2-1', 'today', ''])
      await client.refused('getUsage', 422, { query: { from: value } })
  })

  check('getUsage/follows-the-laws-of-pages', async () => {
    const model = uriOf(await createModel('usage'))
    for (let index = 0; index < 4; index++) await complete(`${runId}-page${index}`, { model })
    await checkPages('getUsage', { query: { model } }, 4)
  })

  check('getUsage/shows-the-teams-of-the-caller-only', async () => {
    await client.refused('getUsage', 403, { query: { entity: foreignTeam } })
    if (!target.secondApiKey) return
    const project = `${runId}-own`
    await complete(project)
    const as = { bearer: target.secondApiKey }
    expect((await client.ok('getUsage', { query: { project }, as })).data).toEqual([])
    await client.refused('getUsage', 403, { query: { entity: home.entity }, as })
  })
})
