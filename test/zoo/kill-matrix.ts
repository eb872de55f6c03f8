/** The kill matrix as Markdown: which checks found which fault, what survived, and which checks found nothing. */
import { noCounterpart } from './no-counterpart.ts'
import type { Outcome } from './worker-pool.ts'
import type { Member, ZooName } from './zoos.ts'

export interface HuntedZoo {
  zoo: ZooName
  members: readonly Member[]
  /** By name; '' is the healthy deployment. */
  outcomes: Record<string, Outcome>
}

/** Checks named for one fault; of the others only the number is told. */
const SHOWN_CHECKS = 3
/** A rule that so many operations have is one family of checks. */
const FAMILY_SIZE = 3

const TITLES: Record<ZooName, string> = {
  first: 'First zoo',
  'held-out': 'Held-out zoo, written from the contract alone',
  fresh: 'Fresh zoo, written likewise when the suite had been improved',
  mutations: 'Mechanical mutations',
  variants: 'Correct variants',
}

export function toKillMatrix(zoos: readonly HuntedZoo[]): string {
  const faulty = zoos.filter(({ zoo }) => zoo !== 'variants')
  return [
    '# Kill matrix',
    '',
    'Made by `npm run zoo`. Each member of a zoo is our own service behind a proxy that breaks it in one way; the suite has to find it.',
    'Each correct variant differs within the contract; the suite must find nothing. Of the first zoo up to three of the checks that notice a',
    'fault are named; of the others the first one, behind which nothing more was run.',
    '',
    ...toSummary(zoos),
    ...faulty.flatMap(toSurvivors),
    ...toIdle(faulty),
    ...toFalseAlarms(zoos),
    ...faulty.flatMap(one => (one.zoo === 'mutations' ? toClasses(one) : toRows(one))),
    ...toMissing(),
  ]
    .join('\n')
    .concat('\n')
}

export function familiesOf(ids: readonly string[]): (id: string) => string {
  const operations = new Map<string, Set<string>>()
  for (const id of ids) {
    const [topic, rule] = split(id)
    operations.set(rule, (operations.get(rule) ?? new Set()).add(topic))
  }
  return id => {
    const [, rule] = split(id)
    return (operations.get(rule)?.size ?? 0) >= FAMILY_SIZE ? `*/${rule}` : id
  }
}

function split(id: string): [topic: string, rule: string] {
  const slash = id.indexOf('/')
  return [id.slice(0, slash), id.slice(slash + 1)]
}

function failuresOf(outcome: Outcome | undefined): string[] {
  return typeof outcome === 'object' ? outcome.failed : []
}

function alarmsOf(outcome: Outcome | undefined): string[] {
  return typeof outcome === 'object' ? outcome.alarms : []
}

function toSummary(zoos: readonly HuntedZoo[]): string[] {
  const rows = zoos.map(({ zoo, members, outcomes }) => {
    const killed = members.filter(({ name }) => failuresOf(outcomes[name]).length > 0).length
    const rate = members.length === 0 ? '' : `${((100 * killed) / members.length).toFixed(1)} %`
    return `| ${TITLES[zoo]} | ${members.length} | ${killed} | ${rate} |`
  })
  return ['| | members | found | rate |', '|---|---|---|---|', ...rows, '']
}

function toSurvivors({ zoo, members, outcomes }: HuntedZoo): string[] {
  const survivors = members.filter(({ name }) => failuresOf(outcomes[name]).length === 0)
  if (survivors.length === 0) return []
  const rows = survivors.map(member => {
    const remark = toRemark(outcomes[member.name])
    return `| ${member.name} | ${cell(member.breaks)} | ${cell(member.rule)} | ${remark} |`
  })
  return [`## ${TITLES[zoo]}: not found`, '', '| fault | what it breaks | rule | |', '|---|---|---|---|', ...rows, '']
}

function toRemark(outcome: Outcome | undefined): string {
  if (typeof outcome !== 'object') return `the run came to nothing: ${cell(outcome ?? '')}`
  if (outcome.changes + outcome.touches === 0) return 'the suite never gets there'
  return outcome.warned.length > 0 ? `${outcome.warned[0]} warns` : ''
}

/** Over the zoos together: a check that finds nothing anywhere is not worth its requests. */
function toIdle(zoos: readonly HuntedZoo[]): string[] {
  const all = zoos.flatMap(({ outcomes }) => Object.values(outcomes)).filter(outcome => typeof outcome !== 'string')
  const ran = [...new Set(all.flatMap(outcome => outcome.ran))]
  const toFamily = familiesOf(ran)
  const busy = new Set(all.flatMap(({ failed, warned }) => [...failed, ...warned]).map(toFamily))
  const families = new Set(ran.map(toFamily))
  const idle = [...families].filter(family => !busy.has(family))
  return [
    '## Checks that find nothing',
    '',
    `${ran.length} checks of ${families.size} families were run; a rule that is checked for several operations is one family.`,
    '',
    ...(idle.length > 0 ? idle.map(family => `- ${family}`) : ['None.']),
    '',
  ]
}

function toFalseAlarms(zoos: readonly HuntedZoo[]): string[] {
  const rows = zoos.flatMap(({ zoo, members, outcomes }) => [
    ...failuresOf(outcomes['']).map(id => `- the healthy deployment (${TITLES[zoo]}): ${id}`),
    ...members.flatMap(({ name }) => alarmsOf(outcomes[name]).map(id => `- ${name}, which changed nothing: ${id}`)),
    ...(zoo === 'variants'
      ? members.flatMap(({ name }) => failuresOf(outcomes[name]).map(id => `- ${name}: ${id}`))
      : []),
  ])
  return ['## False alarms', '', ...(rows.length > 0 ? rows : ['None.']), '']
}

function toRows({ zoo, members, outcomes }: HuntedZoo): string[] {
  const rows = members.map(({ name, breaks }) => {
    const failed = failuresOf(outcomes[name])
    const more = failed.length - SHOWN_CHECKS
    const shown = failed.slice(0, SHOWN_CHECKS).join(', ') + (more > 0 ? ` and ${more} more` : '')
    return `| ${name} | ${cell(breaks)} | ${shown || '**not found**'} |`
  })
  return [`## ${TITLES[zoo]}`, '', '| fault | what it breaks | found by |', '|---|---|---|', ...rows, '']
}

function toClasses({ zoo, members, outcomes }: HuntedZoo): string[] {
  const kinds = [...new Set(members.map(({ kind }) => kind ?? ''))]
  const rows = kinds.map(kind => {
    const own = members.filter(member => member.kind === kind)
    const killed = own.filter(({ name }) => failuresOf(outcomes[name]).length > 0).length
    return `| ${kind} | ${own.length} | ${killed} | ${((100 * killed) / own.length).toFixed(1)} % |`
  })
  return [`## ${TITLES[zoo]}`, '', '| class | mutations | found | rate |', '|---|---|---|---|', ...rows, '']
}

function toMissing(): string[] {
  return [
    '## Without a counterpart',
    '',
    'Faults that other tools were measured with and that nothing in this contract corresponds to.',
    '',
    '| fault | why |',
    '|---|---|',
    ...noCounterpart.map(({ name, reason }) => `| ${name} | ${cell(reason)} |`),
  ]
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
