/**
 * `npm run zoo:peers`: runs other tools on faults of the zoos, and the suite on the same ones, and writes which found what to peers.md.
 *
 *   --zoo NAME      first, held-out, fresh or variants; may be repeated. Default: all four
 *   --sample N      faults drawn from each zoo (60), at random by a seed
 *   --only NAME     only the faults of these names; may be repeated. The table is printed and not written
 *   --minutes N     stop after so long (25); the table tells how far it got
 *   --seen FILE     keep in this file what was seen, and do not try again what it holds: a long run in several parts
 *
 * TRAINYARD_SCHEMATHESIS and TRAINYARD_DREDD name the programs that no package of this repository brings.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/generate/package-paths.ts'
import { isInReach, openPeerHunt } from './peer-hunt.ts'
import { PEER_NOTES } from './peer-notes.ts'
import { type PeerOutcome, type PeerRow, toPeerTable } from './peer-table.ts'
import { createRandom } from './seeded-random.ts'
import { huntAll, type Outcome } from './worker-pool.ts'
import { loadZoo, type Member, type ZooName } from './zoos.ts'

const TABLE = join(import.meta.dirname, 'peers.md')
const OURS = 'trainyard contract'
const SEED = 5
const MS_PER_MINUTE = 60_000

interface Drawn {
  zoo: ZooName
  member: Member
}

const { values } = parseArgs({
  options: {
    zoo: { type: 'string', multiple: true, default: ['variants', 'first', 'held-out', 'fresh'] },
    sample: { type: 'string', default: '60' },
    only: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string', default: '25' },
    seen: { type: 'string' },
  },
})

const start = performance.now()
const deadline = Number(values.minutes) * MS_PER_MINUTE
const isOver = () => performance.now() - start > deadline
const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
const { zoos, drawn } = await draw()
const seen = readSeen()
const { ours, ended } = startSuite(drawn.filter(({ zoo }) => zoo !== 'variants'))
const peers = await openPeerHunt()
const rows: PeerRow[] = []
for (const { zoo, member } of drawn) {
  if (isOver()) break
  const before = seen.get(member.name)
  const isKnown = before && peers.tools.every(({ name }) => !isInReach(member) || isSettled(before[name]))
  const outcomes = isKnown ? before : isInReach(member) ? await peers.hunt(member) : {}
  rows.push({ zoo, member, outcomes })
  if (!isKnown) process.stdout.write(`${zoo} ${member.name}: ${JSON.stringify(outcomes)}\n`)
  write()
}
await Promise.race([ended, sleep(Math.max(0, deadline - (performance.now() - start)))])
write()
await peers.close()
if (values.only.length > 0) process.stdout.write(toText())
// What a tool left open, or a hunt that goes on, must not keep the process.
process.exit()

/** Again and again, so that a run that is cut short leaves what it saw. */
function write(): void {
  if (values.only.length === 0) writeFileSync(TABLE, toText())
  if (!values.seen) return
  const now = new Map(seen)
  for (const { member, outcomes } of rows) now.set(member.name, outcomes)
  for (const [name, outcome] of ours) now.set(name, { ...now.get(name), [OURS]: outcome })
  writeFileSync(values.seen, `${JSON.stringify(Object.fromEntries(now), null, 1)}\n`)
}

/** Outcomes by the name of the tool, by the name of the member. */
function readSeen(): Map<string, PeerRow['outcomes']> {
  if (!values.seen || !existsSync(values.seen)) return new Map()
  return new Map(Object.entries(JSON.parse(readFileSync(values.seen, 'utf8')) as Record<string, PeerRow['outcomes']>))
}

/** What came to nothing is tried again. */
function isSettled(outcome: PeerOutcome | undefined): outcome is 'found' | 'missed' {
  return outcome === 'found' || outcome === 'missed'
}

/** Of what both the suite and the other tools have been tried on. */
function toText(): string {
  const complete = rows.flatMap(row => {
    if (row.zoo === 'variants') return [row]
    const outcome = ours.get(row.member.name)
    return outcome ? [{ ...row, outcomes: { ...row.outcomes, [OURS]: outcome } }] : []
  })
  const minutes = Math.round((performance.now() - start) / MS_PER_MINUTE)
  return toPeerTable({
    tools: [...peers.tools, { name: OURS, version }],
    rows: complete,
    zoos,
    notes: [...peers.missing, ...PEER_NOTES, `The whole took ${minutes} minutes.`],
  })
}

/** The suite on the same faults, in a process beside. Names of faults are not the same in two zoos. */
function startSuite(broken: readonly Drawn[]) {
  const ours = new Map<string, PeerOutcome>()
  for (const { member } of broken) {
    const before = seen.get(member.name)?.[OURS]
    if (isSettled(before)) ours.set(member.name, before)
  }
  const requests = broken
    .filter(({ member }) => !ours.has(member.name))
    .map(({ zoo, member }) => ({ zoo, member: member.name, stopsAtKill: true, isWhole: false }))
  const ended = huntAll(requests, 1, ({ member }, outcome) => {
    ours.set(member!, toOutcome(outcome))
    process.stdout.write(`${OURS}, ${member}: ${JSON.stringify(ours.get(member!))}\n`)
  })
  return { ours, ended }
}

/** From all zoos in turns, so that a run that is cut short has seen something of each. */
async function draw() {
  const lists = await Promise.all(
    (values.zoo as ZooName[]).map(async zoo => {
      const members = await loadZoo(zoo)
      const wanted = members.filter(({ name }) => values.only.length === 0 || values.only.includes(name))
      const random = createRandom(SEED)
      const shuffled = wanted.map(member => ({ member, key: random() })).toSorted((one, other) => one.key - other.key)
      const picked = shuffled.slice(0, Number(values.sample))
      return { zoo, members: members.length, drawn: picked.map(({ member }): Drawn => ({ zoo, member })) }
    }),
  )
  const longest = Math.max(...lists.map(list => list.drawn.length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap(list => list.drawn[turn] ?? []))
  return { zoos: lists.map(list => ({ ...list, drawn: list.drawn.length })), drawn: turns.flat() }
}

function toOutcome(outcome: Outcome): PeerOutcome {
  if (typeof outcome === 'string') return { trouble: outcome }
  return outcome.failed.length > 0 ? 'found' : 'missed'
}
