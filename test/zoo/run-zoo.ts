/**
 * `npm run zoo`: runs the suite on the healthy deployment and on every member of the zoos, and writes the kill matrix.
 *
 *   --zoo NAME      first, held-out, fresh, mutations or variants; may be repeated. Default: every one
 *   --only NAME     only the members of these names; may be repeated
 *   --filter TEXT   only members whose name holds the text
 *   --fast          stop a run at its first failing check, also in the first zoo and on variants
 *   --jobs N        processes (2)
 *   --json FILE     also write what was seen as JSON, again and again while it runs
 *   --from FILE     do not run the members that such a file holds already; may be repeated
 *
 * The matrix is only written for whole zoos. Ends with 1 where the healthy deployment or a correct variant fails, or a fault of the first zoo
 * survives.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { toKillMatrix } from './kill-matrix.ts'
import { huntAll, type Outcome } from './worker-pool.ts'
import type { HuntReply, HuntRequest } from './zoo-worker.ts'
import { hasZoo, loadZoo, ZOOS, type ZooName } from './zoos.ts'

/** What one run of a zoo saw, by member; '' is the healthy deployment. */
export interface ZooResult {
  zoo: ZooName
  outcomes: Record<string, Outcome>
}

const MATRIX = join(import.meta.dirname, 'kill-matrix.md')
const DEFAULT_JOBS = '2'
/** Members after which what was seen is written down. */
const KEPT_EVERY = 20
/** Of these it matters what else is noticed; of the others, whether anything is. */
const SEEN_WHOLE: readonly ZooName[] = ['first', 'variants']

const { values } = parseArgs({
  options: {
    zoo: { type: 'string', multiple: true, default: ZOOS.filter(hasZoo) },
    only: { type: 'string', multiple: true, default: [] },
    filter: { type: 'string', default: '' },
    fast: { type: 'boolean', default: false },
    jobs: { type: 'string', default: DEFAULT_JOBS },
    json: { type: 'string' },
    from: { type: 'string', multiple: true, default: [] },
  },
})

const known: ZooResult[] = values.from.flatMap(path => JSON.parse(readFileSync(path, 'utf8')) as ZooResult[])
const results: ZooResult[] = []
let isBad = false

for (const zoo of values.zoo.map(toZooName)) {
  const outcomes = Object.assign({}, ...known.filter(result => result.zoo === zoo).map(result => result.outcomes))
  results.push({ zoo, outcomes })
  await runZoo(zoo, outcomes)
}
keep()
const isPart = values.only.length > 0 || values.filter !== '' || values.fast
if (!isPart) {
  const zoos = await Promise.all(results.map(async result => ({ ...result, members: await loadZoo(result.zoo) })))
  writeFileSync(MATRIX, toKillMatrix(zoos))
  process.stdout.write(`Written: ${MATRIX}\n`)
}
process.exitCode = isBad ? 1 : 0

/** What was seen so far, for a run that is cut short. */
function keep(): void {
  if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 1)}\n`)
}

/** Adds to the outcomes, by member; '' is the healthy deployment. */
async function runZoo(zoo: ZooName, outcomes: ZooResult['outcomes']): Promise<void> {
  const members = (await loadZoo(zoo)).filter(({ name }) => isWanted(name))
  const stopsAtKill = values.fast || !SEEN_WHOLE.includes(zoo)
  const request = { zoo, stopsAtKill, isWhole: zoo === 'variants' }
  const healthy: HuntRequest = { ...request, member: null, stopsAtKill: false }
  const requests = [healthy, ...members.map(({ name }) => ({ ...request, member: name }))].filter(
    ({ member }) => !(typeof outcomes[member ?? ''] === 'object'),
  )
  process.stdout.write(`${zoo}: ${members.length} members\n`)
  const start = performance.now()
  let ended = 0
  await huntAll(requests, Number(values.jobs), (one, outcome) => {
    outcomes[one.member ?? ''] = outcome
    process.stdout.write(`${String(++ended).padStart(4)} ${one.member ?? 'healthy'}: ${toLine(outcome)}\n`)
    if (ended % KEPT_EVERY === 0) keep()
  })
  const seconds = Math.round((performance.now() - start) / 1000)
  const killed = members.filter(({ name }) => isKilled(outcomes[name])).length
  const clean = ['', ...members.map(({ name }) => name)].filter(name => isClean(outcomes[name]))
  const isMet = zoo === 'first' ? killed === members.length : zoo !== 'variants' || clean.length > members.length
  if (!isMet || !clean.includes('')) isBad = true
  process.stdout.write(`${zoo}: ${killed} of ${members.length} found in ${seconds} s\n`)
}

function isWanted(name: string): boolean {
  return (values.only.length === 0 || values.only.includes(name)) && name.includes(values.filter)
}

function toZooName(name: string): ZooName {
  const zoo = ZOOS.find(one => one === name)
  if (!zoo || !hasZoo(zoo)) throw new Error(`There is no zoo ${name}; there are ${ZOOS.filter(hasZoo).join(', ')}`)
  return zoo
}

function isClean(outcome: Outcome | undefined): outcome is HuntReply {
  return typeof outcome === 'object' && outcome.failed.length === 0
}

/** A run that came to nothing says nothing about the suite. */
function isKilled(outcome: Outcome | undefined): boolean {
  return typeof outcome === 'object' && outcome.failed.length > 0
}

function toLine(outcome: Outcome): string {
  if (typeof outcome === 'string') return outcome
  const { failed, warned, changes, milliseconds, isWhole, message } = outcome
  const warnings = warned.length > 0 ? `, ${warned.length} warn` : ''
  const found = failed.length > 0 ? `${failed.length} failed, first ${failed[0]}: ${message}` : 'nothing failed'
  return `${found}${warnings} (${changes} changes, ${milliseconds} ms${isWhole ? ', whole' : ''})`
}
