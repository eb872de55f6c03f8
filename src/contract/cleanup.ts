/**
 * `trainyard contract cleanup`: takes away what runs left on a deployment that could not end. Of runs of this machine their journals
 * tell; of others, whatever can be listed and bears the name of a run.
 */
import { operations } from '../spec/document.ts'
import type { ContractClient } from './client.ts'
import { CREATIONS } from './creations.ts'
import type { Journal } from './journal.ts'
import { readJournals } from './journal.ts'
import { createLimits, NO_LIMITS } from './limits.ts'
import type { CleanupCommand } from './options.ts'
import { reach } from './reach.ts'
import { ageOfRun, findRunId } from './run-id.ts'
import { createPlainClient, type Item, parametersOf, readList, send, takeAway, toUndoPath } from './take-away.ts'
import type { Target } from './target.ts'

/** 0: nothing is left that could be found; 1: something could not be taken away; 2: the deployment cannot be reached. */
export async function runCleanup(command: CleanupCommand): Promise<0 | 1 | 2> {
  const { target, journalFolder, isAll } = command
  const { trouble } = await reach(target)
  if (trouble) {
    process.stderr.write(`${trouble}\n`)
    return 2
  }
  const limits = createLimits({ ...NO_LIMITS, delayMs: command.delayMs })
  const client = createPlainClient(target, limits.fetch)
  const left: string[] = []
  const going = new Set<string>()
  for (const journal of readJournals(journalFolder, target)) {
    if (!isAll && isRunning(journal)) {
      going.add(journal.runId)
      process.stdout.write(`${journal.runId} seems to go on (process ${journal.pid}), so it is left alone (--all)\n`)
      continue
    }
    const of = await cleanJournal(journal, client, target)
    left.push(...of)
  }
  const isOurs = (runId: string) => !going.has(runId) && (isAll || ageOfRun(runId) >= command.olderThanMs)
  left.push(...(await sweep(isOurs, client, target)))
  if (left.length === 0) return 0
  process.stdout.write(`Still there:\n${left.map(line => `  ${line}`).join('\n')}\n`)
  return 1
}

async function cleanJournal(journal: Journal, client: ContractClient, target: Target): Promise<string[]> {
  const open = journal.entries.filter(({ state }) => state !== 'gone').length
  const left = await takeAway(journal, client, target)
  if (left.length === 0) journal.remove()
  process.stdout.write(`${journal.runId}: ${open - left.length} of ${open} taken away\n`)
  return left
}

function isRunning({ pid }: Journal): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/**
 * Every list whose path needs no more than a team and a project is read, for the teams and projects that are known: that of
 * --project, and those that the items of the lists before name.
 */
async function sweep(isOurs: (runId: string) => boolean, client: ContractClient, target: Target): Promise<string[]> {
  const left: string[] = []
  const places = new Map<string, Record<string, string>>([['', {}]])
  const learn = (entity: unknown, project: unknown) => {
    if (typeof entity !== 'string' || entity === '') return
    places.set(entity, { entity })
    if (typeof project === 'string' && project !== '') places.set(`${entity}/${project}`, { entity, project })
  }
  if (target.project) learn(target.project.entity, target.project.project)
  await learnTeams(client, learn)
  for (const [operationId, { list, undo, kind }] of Object.entries(CREATIONS)) {
    const names = list === null ? null : parametersOf(list)
    if (list === null || undo === null || names === null || parametersOf(undo) === null) continue
    for (const place of [...places.values()].filter(
      one => Object.keys(one).toSorted().join() === names.toSorted().join(),
    )) {
      const items = await readList(list, place, client).catch(error => {
        left.push(`${list} of ${JSON.stringify(place)}: ${(error as Error).message}`)
        return [] as Item[]
      })
      for (const item of items) {
        const runId = findRunId({ ...place, ...item })
        if (!runId || !isOurs(runId)) continue
        const path = toUndoPath(operationId, place, item)
        const trouble = path ? await send(undo, path, client) : 'its list does not tell its id'
        const what = `${kind} ${JSON.stringify(path ?? item)} of ${runId}`
        if (trouble) left.push(`${what}: ${trouble}`)
        else process.stdout.write(`${what} taken away\n`)
      }
    }
  }
  return left
}

/** Teams and projects that lists of the whole deployment tell of; usage tells of those that nothing else is left of. */
async function learnTeams(client: ContractClient, learn: (entity: unknown, project: unknown) => void): Promise<void> {
  const lists = operations.filter(
    ({ operationId, path, method }) => /^(list|getUsage)/.test(operationId) && method === 'GET' && !path.includes('{'),
  )
  for (const { operationId } of lists) {
    const items = await readList(operationId, {}, client).catch(() => [] as Item[])
    for (const { entity, project } of items) learn(entity, project)
  }
}
