/**
 * `npm run zoo:peers`: runs other tools on faults of the zoos, and the suite on the same ones, and writes which found what to peers.md.
 *
 *   --zoo NAME      first, held-out or variants; may be repeated. Default: all three
 *   --sample N      faults drawn from each zoo (60), by a seed
 *   --only NAME     only the faults of these names; may be repeated. The table is printed and not written
 *   --minutes N     begin no more faults after so long (25); the table tells how far it got
 *
 * TRAINYARD_SCHEMATHESIS and TRAINYARD_DREDD name the programs that no package of this repository brings.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/generate/package-paths.ts'
import { isInReach, openPeerHunt } from './peer-hunt.ts'
import { PEER_NOTES } from './peer-notes.ts'
import { type PeerOutcome, type PeerRow, toPeerTable } from './peer-table.ts'
import { createRandom, pickEvenly } from './seeded-random.ts'
import { huntAll, type Outcome } from './worker-pool.ts'
import { loadZoo, type Member, type ZooName } from './zoos.ts'

const TABLE = join(import.meta.dirname, 'peers.md')
const OURS = 'trainyard contract'
const SEED = 5
/** Faults that one process of the suite hunts, side by side with the other tools. */
const CHUNK = 6
const MS_PER_MINUTE = 60_000

interface Drawn {
  zoo: ZooName
  member: Member
}

const { values } = parseArgs({
  options: {
    zoo: { type: 'string', multiple: true, default: ['variants', 'first', 'held-out'] },
    sample: { type: 'string', default: '60' },
    only: { type: 'string', multiple: true, default: [] },
    minutes: { type: 'string', default: '25' },
  },
})

const start = performance.now()
const isOver = () => performance.now() - start > Number(values.minutes) * MS_PER_MINUTE
const { zoos, drawn } = await draw()
const peers = await openPeerHunt()
const rows: PeerRow[] = []
try {
  for (let first = 0; first < drawn.length && !isOver(); first += CHUNK)
    rows.push(...(await huntChunk(drawn.slice(first, first + CHUNK))))
} finally {
  await peers.close()
}
const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string }
const minutes = Math.round((performance.now() - start) / MS_PER_MINUTE)
const table = toPeerTable({
  tools: [...peers.tools, { name: OURS, version }],
  rows,
  zoos,
  notes: [...peers.missing, ...PEER_NOTES, `The whole took ${minutes} minutes.`],
})
if (values.only.length > 0) process.stdout.write(`${table}\n`)
else writeFileSync(TABLE, table)
// What a tool left open must not keep the process.
process.exit()

/** From all zoos in turns, so that a run that is cut short has seen something of each. */
async function draw() {
  const lists = await Promise.all(
    (values.zoo as ZooName[]).map(async zoo => {
      const members = await loadZoo(zoo)
      const wanted = members.filter(({ name }) => values.only.length === 0 || values.only.includes(name))
      const groupOf = ({ of, operations }: Member) => (of ?? operations ?? []).join(' ')
      const picked = pickEvenly(wanted, Number(values.sample), createRandom(SEED), groupOf)
      const random = createRandom(SEED)
      const shuffled = picked.map(member => ({ member, key: random() })).toSorted((one, other) => one.key - other.key)
      return { zoo, members: members.length, drawn: shuffled.map(({ member }): Drawn => ({ zoo, member })) }
    }),
  )
  const longest = Math.max(...lists.map(list => list.drawn.length))
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap(list => list.drawn[turn] ?? []))
  return { zoos: lists.map(list => ({ ...list, drawn: list.drawn.length })), drawn: turns.flat() }
}

async function huntChunk(chunk: readonly Drawn[]): Promise<PeerRow[]> {
  const requests = chunk.map(({ zoo, member }) => ({
    zoo,
    member: member.name,
    stopsAtKill: true,
    isWhole: zoo === 'variants',
  }))
  const ours = huntAll(requests, 1, () => {})
  const found: PeerRow[] = []
  for (const { zoo, member } of chunk) {
    const outcomes: Record<string, PeerOutcome> = isInReach(member) ? await peers.hunt(member) : {}
    found.push({ zoo, member, outcomes })
  }
  const all = await ours
  return found.map(row => {
    const place = broken.findIndex(({ zoo, member }) => zoo === row.zoo && member.name === row.member.name)
    const outcomes = place < 0 ? row.outcomes : { ...row.outcomes, [OURS]: toOutcome(all[place]!) }
    process.stdout.write(`${row.zoo} ${row.member.name}: ${JSON.stringify(outcomes)}\n`)
    return { ...row, outcomes }
  })
}

function toOutcome(outcome: Outcome): PeerOutcome {
  if (typeof outcome === 'string') return { trouble: outcome }
  return outcome.failed.length > 0 ? 'found' : 'missed'
}
