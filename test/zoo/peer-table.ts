/** Which tool found which fault, as Markdown. */
import type { Member, ZooName } from './zoos.ts'

/** found; missed; or why the tool came to nothing. */
export type PeerOutcome = 'found' | 'missed' | { trouble: string }

export interface PeerRow {
  zoo: ZooName
  member: Member
  /** By the name of the tool. */
  outcomes: Record<string, PeerOutcome>
}

export interface PeerTable {
  /** With their versions, in the order of the columns; ours is the last. */
  tools: { name: string; version: string }[]
  rows: PeerRow[]
  /** Of each zoo, how many members it has and how many were drawn. */
  zoos: { zoo: ZooName; members: number; drawn: number }[]
  /** How it was measured, paragraphs. */
  notes: string[]
}

const TITLES: Partial<Record<ZooName, string>> = {
  first: 'First zoo',
  'held-out': 'Held-out zoo',
  fresh: 'Fresh zoo',
  variants: 'Correct variants, where each X is a false alarm',
}

export function toPeerTable({ tools, rows, zoos, notes }: PeerTable): string {
  const names = tools.map(({ name }) => name)
  const count = (of: readonly PeerRow[], name: string) =>
    of.every(({ outcomes }) => outcomes[name] === undefined)
      ? '–'
      : of.filter(({ outcomes }) => outcomes[name] === 'found').length
  const others = names.slice(0, -1)
  const toTotal = (title: string, of: readonly PeerRow[]) => {
    const together = of.filter(({ outcomes }) => others.some(name => outcomes[name] === 'found')).length
    return `| ${[title, of.length, ...names.map(name => count(of, name)), together].join(' | ')} |`
  }
  const ofZoo = (zoo: ZooName) => rows.filter(row => row.zoo === zoo)
  return [
    '# The zoos under other tools',
    '',
    'Made by `npm run zoo:peers`. Each fault is our own service behind a proxy that breaks it in one way; X: the tool reports something',
    'that it does not report of the healthy service.',
    '',
    `| | members | ${names.join(' | ')} | all others together |`,
    `|---|---|${'---|'.repeat(names.length + 1)}`,
    ...zoos.map(({ zoo }) => toTotal(TITLES[zoo] ?? zoo, ofZoo(zoo))),
    toTotal(
      '**all faults**',
      rows.filter(({ zoo }) => zoo !== 'variants'),
    ),
    '',
    ...zoos.map(
      ({ zoo, members, drawn }) =>
        `- ${TITLES[zoo] ?? zoo}: ${ofZoo(zoo).length} tried, of ${drawn} drawn from ${members}.`,
    ),
    `- Versions: ${tools.map(({ name, version }) => `${name} ${version}`).join(', ')}.`,
    ...notes.map(note => `- ${note}`),
    '',
    ...zoos.flatMap(({ zoo }) => [
      `## ${TITLES[zoo] ?? zoo}`,
      '',
      `| member | what it breaks | ${names.join(' | ')} |`,
      `|---|---|${'---|'.repeat(names.length)}`,
      ...ofZoo(zoo).map(row => toRow(row, names)),
      '',
    ]),
  ].join('\n')
}

function toRow({ member, outcomes }: PeerRow, names: readonly string[]): string {
  const cells = names.map(name => {
    const outcome = outcomes[name]
    if (outcome === undefined) return '–'
    return outcome === 'found' ? 'X' : outcome === 'missed' ? '' : '?'
  })
  return `| ${member.name} | ${member.breaks.replaceAll('|', '\\|')} | ${cells.join(' | ')} |`
}
