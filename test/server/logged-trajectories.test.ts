import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createModel, startTestServer, type TestServer, until } from './start.ts'

const SPOOL_BYTES = 10_000
const MIB = 1024 * 1024

let server: TestServer
let model: string

beforeEach(async () => {
  server = await startTestServer({ environment: { SPOOL_BYTES: String(SPOOL_BYTES) }, runJobs: false })
  model = await createModel(server, 'm')
})
afterEach(() => server.close())

const toTrajectory = (content: string, reward: number) => ({
  messages_and_choices: [{ role: 'user', content }],
  reward,
})
const log = (groups: object[][], split = 'val') =>
  server.call(`/v1/preview/models/${model}/log`, {
    json: { split, trajectory_groups: groups.map(trajectories => ({ trajectories })) },
  })
const list = async (query = '') => (await server.call(`/v1/preview/models/${model}/trajectories${query}`)).body

interface Item {
  id: string
  group: number
  reward: number
  messages_and_choices: { content: string }[]
  is_shortened: boolean
}

/** Every item, page by page. */
async function walk(query: string): Promise<Item[]> {
  const items: Item[] = []
  for (let after = ''; ; after = `&after=${items.at(-1)!.id}`) {
    const { data, has_more } = await list(`?${query}${after}`)
    items.push(...data)
    if (!has_more) return items
    expect(data.length).toBeGreaterThan(0)
  }
}

/** Two groups of five and seven, too large for a row. */
const spooled = (): object[][] => [
  Array.from({ length: 5 }, (_, index) => toTrajectory(`wörld ${index} ${'x'.repeat(SPOOL_BYTES)}`, index)),
  Array.from({ length: 7 }, (_, index) => toTrajectory(`ends with\n a break ${index}`, 5 + index)),
]

test('a log that was spooled is listed like a small one, in both directions and any page', async () => {
  await log([[toTrajectory('small', -1)]])
  expect((await log(spooled())).status).toBe(200)
  await log([[toTrajectory('small', 12)]])
  const all = await walk('limit=100')
  expect(all.map(item => item.reward)).toEqual([-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  expect(all.map(item => item.group)).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0])
  expect(all[3]!.messages_and_choices[0]!.content).toBe(`wörld 2 ${'x'.repeat(SPOOL_BYTES)}`)
  expect(all[12]!.messages_and_choices[0]!.content).toBe('ends with\n a break 6')
  expect(all.map(item => item.id)).toEqual(all.map(item => item.id).toSorted())
  for (const limit of [1, 2, 3, 5, 13, 14]) {
    expect(await walk(`limit=${limit}`)).toEqual(all)
    expect(await walk(`limit=${limit}&order=desc`)).toEqual(all.toReversed())
  }
})

test('what is kept of a spooled log goes with the model, and nothing is left in the spool', async () => {
  const contents = async () => {
    const entries = await readdir(join(server.dataDir, 'artifacts'), { recursive: true, withFileTypes: true })
    return entries.filter(entry => entry.isFile()).length
  }
  const before = await contents()
  await log(spooled())
  expect(await contents()).toBe(before + 1)
  await until(
    () => readdir(join(server.dataDir, 'spool')),
    files => files.length === 0,
  )
  await server.call(`/v1/preview/models/${model}`, { method: 'DELETE' })
  expect(await contents()).toBe(0)
})

test('a spooled log that is refused leaves nothing in the spool', async () => {
  const groups = spooled()
  groups[0]!.push({ ...toTrajectory('x', 0), messages_and_choices: [{ index: 0, message: { role: 'assistant' } }] })
  expect((await log(groups)).status).toBe(422)
  await until(
    () => readdir(join(server.dataDir, 'spool')),
    files => files.length === 0,
  )
})

test('a page ends early where its trajectories are large, and the walk still finds all of them', async () => {
  await log([Array.from({ length: 6 }, (_, index) => toTrajectory('x'.repeat(3 * MIB), index))])
  await log([[toTrajectory('y', 6)]])
  const { data, has_more } = await list()
  expect(data.map((item: Item) => item.reward)).toEqual([0, 1])
  expect(has_more).toBe(true)
  expect((await walk('limit=100')).map(item => item.reward)).toEqual([0, 1, 2, 3, 4, 5, 6])
  expect((await walk('order=desc')).map(item => item.reward)).toEqual([6, 5, 4, 3, 2, 1, 0])
})

test('a page ends early across logs too', async () => {
  for (let index = 0; index < 5; index++) await log([[toTrajectory('x'.repeat(3 * MIB), index)]])
  const { data, has_more } = await list()
  expect(data.map((item: Item) => item.reward)).toEqual([0, 1, 2])
  expect(has_more).toBe(true)
  expect((await walk('order=desc')).map(item => item.reward)).toEqual([4, 3, 2, 1, 0])
})

test('a trajectory of more than 8 MiB is shortened, the others are whole', async () => {
  await log([[toTrajectory('x'.repeat(9 * MIB), 0.5), toTrajectory('small', 1)]])
  expect((await list()).data).toMatchObject([
    { reward: 0.5, messages_and_choices: [], is_shortened: true },
    { reward: 1, messages_and_choices: [{ content: 'small' }], is_shortened: false },
  ])
})

test('a cursor that names no item gives what would come after it', async () => {
  await log([[toTrajectory('a', 0), toTrajectory('b', 1)]])
  const [first] = await walk('')
  const rewards = async (query: string) => (await list(query)).data.map((item: Item) => item.reward)
  expect(await rewards('?after=0')).toEqual([0, 1])
  expect(await rewards('?after=zzz')).toEqual([])
  expect(await rewards('?after=zzz&order=desc')).toEqual([1, 0])
  expect(await rewards('?after=0&order=desc')).toEqual([])
  expect(await rewards(`?after=${first!.id.toUpperCase()}`)).toEqual([1])
  expect(await rewards(`?after=${first!.id.slice(0, 28)}ffffffff`)).toEqual([])
  expect(await rewards(`?after=${first!.id.slice(0, 28)}ffffffff&order=desc`)).toEqual([1, 0])
})
