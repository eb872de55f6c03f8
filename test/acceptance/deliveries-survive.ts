/**
 * Whether deliveries outlive their server:
 *
 *     node test/acceptance/deliveries-survive.ts
 *
 * A server of our own is killed (SIGKILL) 20 times at random moments while clients make 1,000 changes that fire automations. Every
 * change that the service has at the end must have been delivered, with one id and one body however often it came, and nothing else.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type Client } from '../../generated/client.ts'
import { type Received, startReceiver } from '../automations/receiver.ts'
import { type Change, REFUSED_CHANGES, type RefusedChange, watchChanges } from './firing-changes.ts'
import { type MortalServer, startMortalServer } from './mortal-server.ts'

export interface Survival {
  kills: number
  /** Changes that a client was told were made, and those of which it never learned because the server died. */
  acknowledged: number
  unsure: number
  /** Changes that the service refused, as it must. */
  refused: number
  /** Of the unsure changes, those that the service has. */
  madeUnsure: number
  /** Deliveries of what the service has, and requests beyond the first of a delivery. */
  delivered: number
  repeats: number
  /** Acknowledged changes that the service does not have, and deliveries of what it has that did not come. */
  lostChanges: string[]
  lost: string[]
  /** Deliveries of what the service does not have. */
  phantoms: string[]
  /** Events with more than one id, ids with more than one body, and requests with a wrong signature. */
  doubled: string[]
  changed: string[]
  forged: string[]
  /** What the service's own history says otherwise. */
  disagreements: string[]
  seconds: number
}

const CLIENTS = 8
/** A kill comes up to this long after the change that it was waiting for. */
const KILL_DELAY_MS = 50
/** The endpoint takes up to this long, so that a kill meets deliveries under way. */
const ANSWER_DELAY_MS = 50
/** Share of the deliveries whose first request the endpoint refuses, so that a kill meets retries too. */
const FAILING_SHARE = 0.05
/** One change in so many is not made again when the server died: what became of it only the service knows. */
const UNREPEATED_EVERY = 4
/** One refused change after so many others. */
const REFUSED_EVERY = 5
const POLL_MS = 100
/** For all deliveries to end, once everything is made. A claim of a dead server lasts seconds. */
const END_LIMIT_MS = 60_000
const SETTINGS = {
  WEBHOOK_ALLOW: '127.0.0.0/8',
  WEBHOOK_STANDARD_HEADERS: '1',
  WEBHOOK_RETRY_SCHEDULE: Array(20).fill('0s').join(),
}

export async function surviveKills({
  kills,
  events,
  report = () => {},
}: {
  kills: number
  events: number
  report?: (text: string) => void
}): Promise<Survival> {
  const start = performance.now()
  const signingKey = randomBytes(16).toString('hex')
  const receiver = await startReceiver(createAnswer())
  const server = await startMortalServer(SETTINGS)
  try {
    const watched = await watchChanges(await server.client(), { endpointUrl: receiver.url, signingKey, events })
    report(`${events} changes are ready`)
    const course = { acknowledged: [] as Change[], unsure: [] as Change[], refused: 0, done: 0 }
    const stop = new AbortController()
    const killing = killAtRandom(server, kills, { progress: () => course.done / events, report, signal: stop.signal })
    await Promise.all([killing, makeAll(server, watched.changes, course)]).finally(async () => {
      stop.abort()
      await killing.catch(() => {})
    })
    report(`all changes are made, ${receiver.received.length} requests came so far`)
    const client = await server.client()
    await waitForEnd(client, watched.webhookId)
    const made = await filterMade(client, watched.changes)
    return {
      kills,
      acknowledged: course.acknowledged.length,
      unsure: course.unsure.length,
      refused: course.refused,
      madeUnsure: course.unsure.filter(change => made.has(change)).length,
      lostChanges: course.acknowledged.filter(change => !made.has(change)).flatMap(({ fires }) => fires),
      ...compare(
        [...made].flatMap(({ fires }) => fires),
        receiver.received,
        signingKey,
      ),
      disagreements: await findDisagreements(client, watched, receiver.received),
      seconds: (performance.now() - start) / 1000,
    }
  } finally {
    await server.close()
    await receiver.close()
  }
}

function createAnswer(): Parameters<typeof startReceiver>[0] {
  const seen = new Set<string>()
  return ({ headers }, response) => {
    const id = toId({ headers })
    response.statusCode = !seen.has(id) && Math.random() < FAILING_SHARE ? 500 : 200
    seen.add(id)
    setTimeout(() => response.end(), Math.random() * ANSWER_DELAY_MS)
  }
}

/** Kills once in each of so many equal parts of the way. */
async function killAtRandom(
  server: MortalServer,
  kills: number,
  { progress, report, signal }: { progress: () => number; report: (text: string) => void; signal: AbortSignal },
): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    const moment = (kill + Math.random()) / kills
    while (progress() < moment) await sleep(1, undefined, { signal })
    await sleep(Math.random() * KILL_DELAY_MS, undefined, { signal })
    await server.kill()
    report(`killed ${kill + 1} of ${kills}, at ${Math.round(moment * 100)} % of the changes`)
  }
}

interface Course {
  acknowledged: Change[]
  unsure: Change[]
  refused: number
  done: number
}

async function makeAll(server: MortalServer, changes: readonly Change[], course: Course): Promise<void> {
  const left = changes.entries()
  const work = async () => {
    for (const [number, change] of left) {
      const isRepeated = number % UNREPEATED_EVERY !== 0
      const isTold = await makeChange(server, change, isRepeated)
      course[isTold ? 'acknowledged' : 'unsure'].push(change)
      course.done++
      if (number % REFUSED_EVERY > 0) continue
      await requireRefusal(server, REFUSED_CHANGES[course.refused++ % REFUSED_CHANGES.length]!)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
}

/** Whether the service said that it was made. An error that it answers with is thrown. */
async function makeChange(server: MortalServer, { make }: Pick<Change, 'make'>, isRepeated: boolean): Promise<boolean> {
  for (;;) {
    const client = await server.client()
    try {
      await make(client)
      return true
    } catch (error) {
      if (error instanceof ApiError) throw error
      if (!isRepeated) return false
    }
  }
}

async function requireRefusal(server: MortalServer, { make, status }: RefusedChange): Promise<void> {
  const outcome = await makeChange(server, { make }, true).catch(error => error)
  if (!(outcome instanceof ApiError) || outcome.status !== status)
    throw new Error(`A change was not refused with ${status}: ${outcome}`)
}

async function waitForEnd(client: Client, webhook_id: string): Promise<void> {
  const end = Date.now() + END_LIMIT_MS
  const isPending = async () => {
    const pending = await client.listWebhookDeliveries({ entity: 'default', webhook_id, status: 'Pending', limit: 1 })
    return pending.data.length > 0
  }
  while (Date.now() < end && (await isPending())) await sleep(POLL_MS)
}

async function filterMade(client: Client, changes: readonly Change[]): Promise<Set<Change>> {
  const made = new Set<Change>()
  const left = changes.values()
  const work = async () => {
    for (const change of left) if (await change.isMade(client)) made.add(change)
  }
  await Promise.all(Array.from({ length: CLIENTS }, work))
  return made
}

function compare(expected: string[], received: Received[], signingKey: string) {
  const idsOf = Map.groupBy(received, toName)
  const bodiesOf = Map.groupBy(received, toId)
  const count = (requests: Received[] | undefined, toValue: (one: Received) => string) =>
    new Set(requests?.map(toValue)).size
  return {
    delivered: expected.filter(name => idsOf.has(name)).length,
    repeats: received.length - bodiesOf.size,
    lost: expected.filter(name => !idsOf.has(name)),
    phantoms: [...idsOf.keys()].filter(name => !expected.includes(name)),
    doubled: [...idsOf].filter(([, requests]) => count(requests, toId) > 1).map(([name]) => name),
    changed: [...bodiesOf]
      .filter(([, requests]) => count(requests, ({ body }) => body.toString()) > 1)
      .map(([id]) => id),
    forged: received
      .filter(
        ({ headers, body }) =>
          headers['x-vendor-signature'] !== createHmac('sha256', signingKey).update(body).digest('hex'),
      )
      .map(toName),
  }
}

/** Deliveries and executions that did not end well, and ids that only one side knows. */
async function findDisagreements(
  client: Client,
  { webhookId: webhook_id, automationIds }: { webhookId: string; automationIds: string[] },
  received: Received[],
): Promise<string[]> {
  const ids = new Set(received.map(toId))
  const found: string[] = []
  for await (const { id, status } of client.iterateWebhookDeliveries({ entity: 'default', webhook_id, limit: 100 })) {
    if (status !== 'Finished') found.push(`the delivery ${id} is ${status}`)
    if (!ids.delete(id)) found.push(`the delivery ${id} did not come`)
  }
  for (const id of ids) found.push(`the delivery ${id} is unknown to the service`)
  for (const automation_id of automationIds) {
    for await (const { id, status } of client.iterateAutomationExecutions({ automation_id, limit: 100 })) {
      if (status !== 'Finished') found.push(`the execution ${id} is ${status}`)
    }
  }
  return found
}

const toId = ({ headers }: Pick<Received, 'headers'>) => String(headers['webhook-id'])
const toName = ({ json }: Received) => (json as { says: string }).says

const FAULTS = {
  lostChanges: 'acknowledged changes lost',
  lost: 'deliveries lost',
  phantoms: 'deliveries of what is not there',
  doubled: 'events delivered under several ids',
  changed: 'ids with several bodies',
  forged: 'requests with a wrong signature',
  disagreements: 'differences from the history',
} as const

/** What is wrong, in words; empty when nothing is. */
export function findFaults(survival: Survival): string[] {
  return Object.entries(FAULTS).flatMap(([name, words]) => {
    const found = survival[name as keyof typeof FAULTS]
    return found.length === 0 ? [] : [`${found.length} ${words}, such as ${found.slice(0, 3).join(', ')}`]
  })
}

async function main(): Promise<void> {
  const survival = await surviveKills({ kills: 20, events: 1000, report: text => console.log(text) })
  const { kills, acknowledged, unsure, madeUnsure, refused, delivered, repeats, seconds } = survival
  console.log(`${kills} kills in ${seconds.toFixed(0)} s`)
  console.log(
    `${acknowledged} changes acknowledged, ${refused} refused, ${unsure} unsure of which ${madeUnsure} were made`,
  )
  console.log(`${delivered} deliveries came, with ${repeats} repeats`)
  for (const [name, words] of Object.entries(FAULTS))
    console.log(`${survival[name as keyof typeof FAULTS].length} ${words}`)
  const faults = findFaults(survival)
  console.log(faults.length ? `FAILED: ${faults.join('; ')}` : 'passed')
  if (faults.length) process.exitCode = 1
}

if (import.meta.main) await main()
