/** Takes away what a run made, the last first: at its end, and after a crash. */
import { operations } from '../spec/document.ts'
import type { CallOptions, ContractClient, OperationId } from './client.ts'
import { createContractClient } from './client.ts'
import { createCoverage } from './coverage.ts'
import { CREATIONS } from './creations.ts'
import type { Entry, Journal, KeyName } from './journal.ts'
import { undoParameters } from './journaling-fetch.ts'
import { bearsRunId } from './run-id.ts'
import type { Target } from './target.ts'

/** What is in use, such as by a job that is being cancelled, is tried again. */
const PASSES = 4
const PAUSE_MS = 300
/** Items asked for at once: the most that the contract allows. */
const PAGE_LENGTH = 100

export type Item = Readonly<Record<string, unknown>>

/** A client whose exchanges nobody judges: what it finds says nothing about the checks. */
export function createPlainClient(target: Target, baseFetch: typeof fetch): ContractClient {
  return createContractClient({ ...target, profile: 'full' }, createCoverage(), baseFetch)
}

/** One line for each thing that is still there. Never throws. */
export async function takeAway(journal: Journal, client: ContractClient, target: Target): Promise<string[]> {
  let troubles = await runPass(journal, client, target)
  for (let pass = 1; pass < PASSES && troubles.length > 0; pass++) {
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    const before = troubles.length
    troubles = await runPass(journal, client, target)
    if (pass > 1 && troubles.length === before) break
  }
  return troubles
}

async function runPass(journal: Journal, client: ContractClient, target: Target): Promise<string[]> {
  const troubles: string[] = []
  // Requests of one kind without a reply are one question: is anything there?
  const asked = new Map<string, string | null>()
  for (const entry of journal.entries.toReversed()) {
    if (entry.state === 'gone') continue
    const { operationId, path, key, number, state } = entry
    const question = state === 'sent' ? JSON.stringify({ operationId, path, key }) : String(number)
    const trouble = asked.has(question)
      ? asked.get(question)!
      : await undo(entry, journal, client, target).catch(error => (error as Error).message)
    if (trouble === null) journal.settle(entry, 'gone')
    else if (!asked.has(question)) troubles.push(`${describe(entry)}: ${trouble}`)
    asked.set(question, trouble)
  }
  return troubles
}

/** Everything that a list holds. Throws where it cannot be read. */
export async function readList(
  id: string,
  path: Readonly<Record<string, string>>,
  client: ContractClient,
  as: Partial<Pick<CallOptions, 'as'>> = {},
): Promise<Item[]> {
  const items: Item[] = []
  for (let after: string | undefined; ; ) {
    const query = { limit: PAGE_LENGTH, after }
    const { status, body } = await client.call(id as OperationId, { path: { ...path }, query, ...as, bad: true })
    if (status === 404) return items
    const page = body as { data?: Item[]; has_more?: boolean; last_id?: string } | undefined
    if (status !== 200 || !Array.isArray(page?.data)) throw new Error(`${id} answered ${status}`)
    items.push(...page.data)
    if (!page.has_more || !page.last_id || page.last_id === after) return items
    after = page.last_id
  }
}

/** Null when the operation took it away or it was gone; else what it answered. An id is sent as it came, however wrong it is. */
export async function send(
  id: string,
  path: Readonly<Record<string, string>>,
  client: ContractClient,
  as: Partial<Pick<CallOptions, 'as'>> = {},
): Promise<string | null> {
  const { status } = await client.call(id as OperationId, { path: { ...path }, ...as, bad: true })
  return (status >= 200 && status < 300) || status === 404 ? null : `${id} answered ${status}`
}

/** The names of the path parameters of an operation; null where the contract has no such operation. */
export function parametersOf(id: string): string[] | null {
  const operation = operations.find(({ operationId }) => operationId === id)
  return operation ? operation.parameters.filter(one => one.in === 'path').map(({ name }) => name) : null
}

/** The path of the operation that takes away an item of a list; null where the item does not tell it. */
export function toUndoPath(operationId: string, path: Entry['path'], item: Item): Entry['path'] | null {
  const { undo, from } = CREATIONS[operationId]!
  const names = undo === null ? null : parametersOf(undo)
  if (names === null) return null
  const reply = Object.fromEntries(Object.values(from).map(field => [field, String(item[field] ?? '')]))
  return undoParameters({ number: 0, operationId, path, key: 'first', state: 'made', reply }, names)
}

async function undo(entry: Entry, journal: Journal, client: ContractClient, target: Target): Promise<string | null> {
  const { undo: undoId, goesAlong } = CREATIONS[entry.operationId] ?? { undo: null, goesAlong: false }
  const names = undoId === null ? null : parametersOf(undoId)
  if (undoId === null || names === null) return 'the contract has no operation that takes it away'
  const as = toCredentials(undoId, entry.key, target)
  if (entry.state === 'sent' && goesAlong) return null
  if (entry.state === 'sent') return undoUnknown(entry, journal, client, as)
  const path = undoParameters(entry, names)
  const trouble = path ? await send(undoId, path, client, as) : 'its reply did not tell its id'
  return goesAlong ? null : trouble
}

/** The reply never came, so the thing may be there or not: its list tells. */
async function undoUnknown(
  { operationId, path }: Entry,
  { runId }: Journal,
  client: ContractClient,
  as: Pick<CallOptions, 'as'> | Record<string, never>,
): Promise<string | null> {
  const { list, undo: undoId } = CREATIONS[operationId]!
  const names = list === null ? null : parametersOf(list)
  if (list === null || names === null) return 'no reply told its id, and no operation lists it'
  const ofList = Object.fromEntries(names.map(one => [one, path[one] ?? '']))
  const isOurs = bearsRunId(ofList, runId)
  for (const item of await readList(list, ofList, client, as)) {
    if (!isOurs && !bearsRunId(item, runId)) continue
    const ofUndo = toUndoPath(operationId, path, item)
    const trouble = ofUndo ? await send(undoId!, ofUndo, client, as) : 'its list does not tell its id'
    if (trouble !== null) return trouble
  }
  return null
}

function toCredentials(id: string, key: KeyName, target: Target): Pick<CallOptions, 'as'> | Record<string, never> {
  const isBearer = operations.find(({ operationId }) => operationId === id)?.security.includes('bearer')
  return key === 'second' && target.secondApiKey !== null && isBearer ? { as: { bearer: target.secondApiKey } } : {}
}

function describe({ operationId, path, reply }: Entry): string {
  const kind = CREATIONS[operationId]?.kind ?? operationId
  return [kind, ...Object.values(path), ...Object.values(reply)].join(' ')
}
