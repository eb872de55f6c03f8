/** The suite as a program, ended midway: nothing that it made stays. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { findTraces } from '../../src/contract/creations.ts'
import { findUnaccounted, type Rows, readRows } from '../contract/database-rows.ts'
import { type InProcess, startInProcess } from '../contract/in-process.ts'

const CLI = join(import.meta.dirname, '../../src/cli.ts')
const MADE = ['createModel', 'createScorer', 'createArtifactVersion', 'createChatCompletion', 'createRlTrainingJob']
/** What may stay whatever is done, as the report of a run names it. */
// Usage too: a chat that was cut off counts.
const TRACES = [...findTraces(Object.fromEntries(MADE.map(id => [id, { 200: 1 }]))), 'usage']

let service: InProcess
let state: string
let before: Rows

beforeAll(async () => {
  service = await startInProcess()
})
afterAll(() => service.close())
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'contract-state-'))
  before = await readRows(service.service.database)
})
afterEach(() => rm(state, { recursive: true, force: true }))

function start(args: string[]): { child: ChildProcess; ended: Promise<{ code: number | null; text: string }> } {
  const { baseUrl, apiKey, secondApiKey } = service.target
  const keys = ['--base-url', baseUrl, '--api-key', apiKey, '--second-api-key', secondApiKey!]
  const child = spawn(process.execPath, [CLI, 'contract', ...args, ...keys], {
    env: { ...process.env, XDG_STATE_HOME: state },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => (text += piece))
  const ended = new Promise<{ code: number | null; text: string }>(resolve =>
    child.on('close', code => resolve({ code, text })),
  )
  return { child, ended }
}

const folder = () => join(state, 'trainyard/contract')

async function readJournal(): Promise<string> {
  const [name] = await readdir(folder()).catch(() => [])
  return name ? readFile(join(folder(), name), 'utf8') : ''
}

const toTags = (tags: string) => tags.split(',').flatMap(tag => ['--tag', tag])

/** Ends a run when it has made so many things, those that are gone again included. */
async function endMidway(things: number, signal: NodeJS.Signals, args: string[] = []) {
  const { child, ended } = start(args)
  let isOver = false
  void ended.then(() => (isOver = true))
  while (!isOver && (await readJournal()).split('"made"').length <= things)
    await new Promise(resolve => setTimeout(resolve, 5))
  child.kill(signal)
  return ended
}

const unaccounted = async () => findUnaccounted(before, await readRows(service.service.database), TRACES)

describe('a run that was killed', () => {
  it.each<[number, string, number]>([
    [3, 'models', 1],
    [40, 'artifacts,scorers', 4],
    [12, 'webhooks,automations', 1],
    [10, 'teams,secrets,api-keys,registries', 2],
  ])(
    'leaves a journal, by which cleanup takes away everything (after %d things of %s)',
    async (things, tags, concurrency) => {
      const { code } = await endMidway(things, 'SIGKILL', [...toTags(tags), '--concurrency', String(concurrency)])
      expect(code).toBeNull()
      expect((await unaccounted()).length).toBeGreaterThan(0)
      const journal = await readJournal()
      for (const secret of [service.target.apiKey, service.target.secondApiKey!]) expect(journal).not.toContain(secret)
      const { code: cleanupCode, text } = await start(['cleanup']).ended
      expect({ cleanupCode, text }).toMatchObject({ cleanupCode: 0, text: expect.stringContaining(' taken away') })
      expect(await unaccounted()).toEqual([])
      expect(await readdir(folder())).toEqual([])
    },
    60_000,
  )

  it('is found by what bears its name where the journal is on another machine, once it is old enough', async () => {
    await endMidway(5, 'SIGKILL', ['--tag', 'models'])
    await rm(state, { recursive: true })
    const young = await start(['cleanup']).ended
    expect(young).toEqual({ code: 0, text: '' })
    expect((await unaccounted()).length).toBeGreaterThan(0)
    const { code, text } = await start(['cleanup', '--older-than', '0']).ended
    expect({ code, text }).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^model .+ of contract-.+ taken away/),
    })
    expect(await unaccounted()).toEqual([])
  }, 60_000)
})

describe('a run that goes on', () => {
  it('is left alone by cleanup', async () => {
    const { child, ended } = start(['--tag', 'models'])
    while (!(await readJournal()).includes('"made"')) await new Promise(resolve => setTimeout(resolve, 5))
    const { text } = await start(['cleanup', '--older-than', '0']).ended
    expect(text).toContain(`seems to go on (process ${child.pid})`)
    expect((await ended).code).toBe(0)
    expect(await unaccounted()).toEqual([])
  }, 60_000)
})

describe('a run that is told to end', () => {
  it.each<[NodeJS.Signals]>([['SIGINT'], ['SIGTERM']])(
    'by %s takes everything away and reports',
    async signal => {
      const { code, text } = await endMidway(12, signal, toTags('models,artifacts,scorers'))
      expect({ code, text }).toMatchObject({
        code: 2,
        text: expect.stringContaining(`The run ended before its last check: it was stopped by ${signal}`),
      })
      expect(text).toMatch(/\d+ skip, .*\d+ pass/)
      expect(await unaccounted()).toEqual([])
      expect(await readdir(folder())).toEqual([])
    },
    60_000,
  )
})
