import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NEEDS } from '../../src/contract/check.ts'
import type { CheckResult } from '../../src/contract/run-check.ts'
import type { RunListener, RunReport } from '../../src/contract/run-report.ts'
import { CANNOT_BE_DELETED } from '../../src/contract/run-report.ts'
import { addKey } from '../../src/storage/keys.ts'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import { createRunner, planSuite, runSuite, type SuiteOptions } from '../contract/run-suite.ts'
import { home, limits, takeAllAway, unknownId } from '../contract/setup.ts'

const LIMIT_MS = 60_000

let service: InProcess
beforeAll(async () => {
  service = await startInProcess()
})
afterAll(() => service.close())

const ids = (results: CheckResult[], verdict: string) =>
  results.filter(result => result.verdict === verdict).map(({ id }) => id)

const run = (options: Partial<SuiteOptions>, more: Partial<InProcess['target']> = {}): Promise<RunReport> =>
  runSuite({ ...service.target, ...more }, options)

const choose = (...filters: string[]) => ({ selection: { filters, tags: [] } })

describe('a filter', () => {
  it('sends nothing of what it leaves out, and makes nothing that is not used', async () => {
    const { results, requests, counts } = await run(choose('getHealth/makes-a-new-request-id'))
    expect(ids(results, 'pass')).toEqual(['getHealth/makes-a-new-request-id-each-time'])
    expect({ requests, counts }).toEqual({ requests: 2, counts: { getHealth: { 200: 2 } } })
  })

  it('makes the model that checks share where one is used', async () => {
    const { counts, left } = await run(choose('getModel/gives-what-was-created'))
    expect(counts.createModel).toEqual({ 200: 1 })
    expect(left.filter(line => !line.startsWith(CANNOT_BE_DELETED))).toEqual([])
  })
})

describe('checks that say that they do not use the model that checks share', () => {
  it(
    'pass without it',
    async () => {
      const { checks } = planSuite(service.target, { filters: [], tags: [] })
      const without = checks.filter(({ usesHome, isLast }) => !usesHome && !isLast)
      expect(without.length).toBeGreaterThan(30)
      const runOne = createRunner(null, false)
      const failed: string[] = []
      for (const check of without) {
        const { verdict, message } = await runOne(check)
        if (verdict === 'fail') failed.push(`${check.id}: ${message}`)
      }
      expect(failed).toEqual([])
      expect(home.id).toBe(unknownId)
      await takeAllAway()
    },
    LIMIT_MS,
  )
})

describe('where the model that checks share cannot be made', () => {
  it('those that use it fail, and say so, and the others are judged', async () => {
    const options = choose('getModel/gives-what-was-created', 'getHealth/makes-a-new')
    const { results } = await run(options, { baseModel: 'no-such-model' })
    expect(results.filter(({ verdict }) => verdict === 'fail')).toMatchObject([
      { id: 'getModel/gives-what-was-created', message: expect.stringContaining('createModel answered 400') },
    ])
    expect(ids(results, 'pass')).toEqual(['getHealth/makes-a-new-request-id-each-time'])
  })
})

describe('a caller who may not do everything', () => {
  const selection = { filters: [], tags: ['teams', 'secrets', 'webhooks', 'automations'] }
  const failures = ({ results }: RunReport) => ids(results, 'fail')
  const reasonOf = ({ results }: RunReport, id: string) => results.find(result => result.id === id)!.message

  it(
    'is not blamed for being a member, and told what was left out',
    async () => {
      const member = { value: 'a-key-of-a-member-with-no-role', user: 'bob', team: 'default', role: 'member' } as const
      await addKey(service.service.database, { ...member, name: 'member' })
      const report = await run({ selection }, { apiKey: member.value, basic: `api:${member.value}` })
      expect(failures(report)).toEqual([])
      expect(reasonOf(report, 'putSecret/never-shows-the-value')).toBe(NEEDS['team-admin'])
      expect(ids(report.results, 'pass')).toContain('listWebhooks/accepts-a-good-request')
    },
    LIMIT_MS,
  )

  it(
    'is not blamed for the plan of the team',
    async () => {
      const setPlan = (plan: 'free' | 'paid') =>
        service.service.database.updateTable('teams').set({ plan }).where('name', '=', 'default').execute()
      await setPlan('free')
      const report = await run({ selection }).finally(() => setPlan('paid'))
      expect(failures(report)).toEqual([])
      expect(reasonOf(report, 'updateWebhook/disables-and-enables')).toBe(NEEDS['paid-plan'])
      expect(ids(report.results, 'pass')).toContain('putSecret/never-shows-the-value')
    },
    LIMIT_MS,
  )
})

describe('checks side by side', () => {
  it(
    'come to the same verdicts',
    async () => {
      const selection = { filters: [], tags: ['models', 'scorers', 'usage', 'artifacts', 'training-jobs'] }
      const { results, left } = await run({ selection, concurrency: 5 })
      expect(results.filter(({ verdict }) => verdict === 'fail').map(({ id, message }) => `${id}: ${message}`)).toEqual(
        [],
      )
      expect(ids(results, 'pass').length).toBeGreaterThan(200)
      expect(left.filter(line => !line.startsWith(CANNOT_BE_DELETED))).toEqual([])
    },
    LIMIT_MS,
  )
})

describe('a project that is given', () => {
  it(
    'is where everything is made',
    async () => {
      const project = { entity: 'default', project: 'given-project' }
      const made = new Set<string>()
      const seen = service.service.database
      const listener: RunListener = {
        onStart: () => {},
        onEnd: () => {},
        async onResult() {
          for (const table of ['models', 'scorers', 'collections'] as const)
            for (const row of await seen.selectFrom(table).select('project').execute()) made.add(row.project)
        },
      }
      await seen.deleteFrom('scorers').execute()
      await seen.deleteFrom('artifact_versions').execute()
      await seen.deleteFrom('collections').execute()
      const selection = { filters: [], tags: ['models', 'scorers', 'artifacts'] }
      const { results } = await run({ selection, listener }, { project })
      expect(results.filter(({ verdict }) => verdict === 'fail').map(({ id, message }) => `${id}: ${message}`)).toEqual(
        [],
      )
      expect([...made]).toEqual(['given-project'])
    },
    LIMIT_MS,
  )
})

describe('a run that only reads', () => {
  it(
    'sends only what is safe, and judges what is given',
    async () => {
      const body = JSON.stringify({ project: 'p', name: 'tiny', base_model: 'tiny-chat' })
      const headers = { authorization: `Bearer ${service.target.apiKey}`, 'content-type': 'application/json' }
      const reply = await fetch(`${service.target.baseUrl}/v1/preview/models`, { method: 'POST', headers, body })
      const { id: modelId } = (await reply.json()) as { id: string }
      const given = { modelId, trainingJobId: null, artifact: 'artifact:///default/p/tiny:step0' }
      const { results } = await run({}, { isReadOnly: true, given })
      expect(results.filter(({ verdict }) => verdict === 'fail').map(({ id, message }) => `${id}: ${message}`)).toEqual(
        [],
      )
      expect(results.filter(({ writes }) => writes)).toEqual([])
      const passed = ids(results, 'pass')
      expect(passed).toEqual(
        expect.arrayContaining([
          'listModels/shows-a-model-as-it-is-alone',
          'getArtifactFile/gives-what-the-version-says-of-it',
        ]),
      )
      expect(results.find(({ id }) => id === 'getTrainingJob/agrees-with-its-list-and-its-events')!.message).toBe(
        'no training job was given (--training-job-id)',
      )
      const without = await run(choose('getModel/gives-what-was-created'), { isReadOnly: true })
      expect(without.results.find(({ verdict }) => verdict === 'skip')!.message).toBe('no model was given (--model-id)')
    },
    LIMIT_MS,
  )
})

describe('a limit of requests', () => {
  it('skips what is left, and what was made is deleted all the same', async () => {
    const { results, left, stopped } = await run({ maxRequests: 12, ...choose('createScorer/', 'createModel/') })
    expect(stopped).toBe('the limit of 12 requests was reached (--max-requests)')
    expect(results.filter(({ message }) => message === stopped).length).toBeGreaterThan(5)
    expect(ids(results, 'fail')).toEqual([])
    expect(left.filter(line => !line.startsWith(CANNOT_BE_DELETED))).toEqual([])
    expect(limits.sent()).toBeGreaterThanOrEqual(12)
  })
})

describe('what builds upon another check', () => {
  it('is skipped for the reason for which that was', async () => {
    const { results } = await run(choose('listCheckpoints/has-the-new-one-first'), { mayTrain: false })
    expect(ids(results, 'skip')).toEqual([
      'createRlTrainingJob/takes-rollouts-as-they-are',
      'listCheckpoints/has-the-new-one-first-when-asked-backwards',
    ])
  })
})
