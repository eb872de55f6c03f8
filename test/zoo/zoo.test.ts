/** A sample of the zoos in every test run, so that the suite is seen to find faults; `npm run zoo` hunts them all. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import { faults as firstZoo } from './first-zoo.ts'
import { hunt } from './hunt.ts'
import { createMutations, faults as mutations, SEED } from './mutations.ts'
import { noCounterpart } from './no-counterpart.ts'
import { loadZoo, type Member } from './zoos.ts'

/** Faults of every theme, and how the ids of the checks begin that have to find them. */
const SAMPLE: readonly [fault: string, checks: string][] = [
  ['missing-field', 'createModel/accepts-a-good-request'],
  ['extra-prop', 'createModel/'],
  ['int-string', 'listCheckpoints/'],
  ['date-space', 'listModels/'],
  ['status-202', 'createScorer/'],
  ['www-auth-missing', 'getUsage/rejects-missing-credentials'],
  ['auth-any', 'listModels/rejects-a-wrong-key'],
  ['err422-as-400', 'createScorer/'],
  ['method-200', 'getHealth/rejects-other-methods'],
  ['page-skip', 'listScorers/'],
  ['has-more-always-false', 'listScorers/'],
  ['delete-count', 'deleteScorer/'],
  ['range-off-by-one', 'getArtifactFile/'],
  ['usage-sum', 'createChatCompletion/echoes-the-model'],
  ['sse-no-done', 'createChatCompletion/streams'],
  ['sse-id-drift', 'createChatCompletion/streams'],
]

const HUNT_LIMIT_MS = 60_000

let service: InProcess
let members: Member[]

beforeAll(async () => {
  members = await loadZoo('first')
  service = await startInProcess()
})

afterAll(() => service.close())

/** What a check led to is judged at the end, by the operation. */
function beginsWith(start: string) {
  const judgement = `${start.slice(0, start.indexOf('/'))}/keeps-to-the-contract`
  return ({ id }: { id: string }) => id.startsWith(start) || id === judgement
}

test.each(SAMPLE)('the suite finds %s', { timeout: HUNT_LIMIT_MS }, async (name, start) => {
  const member = members.find(one => one.name === name)!
  const { failed, changes } = await hunt(service, member, {
    isChosen: beginsWith(start),
    needs: [],
    stopsAtKill: true,
  })
  expect(changes).toBeGreaterThan(0)
  expect(failed).toHaveLength(1)
})

test('the suite finds nothing on a deployment without a fault', { timeout: HUNT_LIMIT_MS }, async () => {
  const choices = SAMPLE.map(([, start]) => beginsWith(start))
  const isChosen = (check: { id: string }) => choices.some(isOne => isOne(check))
  const { failed, ran, message } = await hunt(service, null, { isChosen, needs: [], stopsAtKill: false })
  expect(failed, message).toEqual([])
  expect(ran.length).toBeGreaterThan(SAMPLE.length)
})

test('a seed gives the same mutations to everybody', () => {
  expect(mutations.length).toBeGreaterThanOrEqual(500)
  expect(createMutations(SEED).map(({ name }) => name)).toEqual(mutations.map(({ name }) => name))
  expect(createMutations(SEED + 1).map(({ name }) => name)).not.toEqual(mutations.map(({ name }) => name))
})

test('each member has a name of its own and says what it breaks', () => {
  const all = [...firstZoo, ...mutations]
  expect(new Set(all.map(({ name }) => name)).size).toBe(all.length)
  for (const { name, rule, breaks } of all) {
    expect(name).toMatch(/^[\w*-]+$/)
    expect(rule.length * breaks.length, name).toBeGreaterThan(0)
  }
  for (const { name, reason } of noCounterpart) expect(reason.length, name).toBeGreaterThan(0)
})
