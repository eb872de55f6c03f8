/** Hunts one fault after the other, each on a new deployment in front of one service; told by messages what and how. */
import { operations } from '../../src/spec/document.ts'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import { COSTLY, type Hunt, type HuntOptions, hunt } from './hunt.ts'
import { loadZoo, type Member, type ZooName } from './zoos.ts'

export interface HuntRequest {
  zoo: ZooName
  /** Null: the healthy deployment. */
  member: string | null
  stopsAtKill: boolean
  /** Nothing is left out from the beginning. */
  isWhole: boolean
}

export interface HuntReply extends Hunt {
  /** Checks that failed although the fault had not changed anything: alarms that are false. */
  alarms: string[]
  /** Nothing was found in the first place, so that everything was run. */
  isWhole: boolean
}

const EVERYTHING: Omit<HuntOptions, 'stopsAtKill'> = { isChosen: () => true, needs: COSTLY }

async function answer(service: InProcess, request: HuntRequest): Promise<HuntReply> {
  const reply = await huntMember(service, request)
  const isFaulty = request.member !== null && request.zoo !== 'variants'
  return isFaulty && reply.changes + reply.touches === 0
    ? { ...reply, failed: [], alarms: reply.failed }
    : { ...reply, alarms: [] }
}

async function huntMember(service: InProcess, request: HuntRequest): Promise<Omit<HuntReply, 'alarms'>> {
  const { zoo, stopsAtKill } = request
  const member = request.member === null ? null : await findMember(zoo, request.member)
  const whole = { ...EVERYTHING, stopsAtKill }
  if (member === null || request.isWhole) return { ...(await hunt(service, member, whole)), isWhole: true }
  const chosen = { ...toChoice(member), stopsAtKill }
  const first = await hunt(service, member, chosen)
  if (first.failed.length > 0 && first.changes + first.touches > 0) {
    const healthy = await healthyFailures(service, chosen, JSON.stringify([member.of, chosen.needs]))
    const failed = first.failed.filter(id => !healthy.has(id))
    if (failed.length > 0) return { ...first, failed, isWhole: false }
  }
  // The kill is what counts from here on: what else would fail says nothing about what the fault breaks.
  const all = await hunt(service, member, { ...whole, stopsAtKill: true })
  return {
    ...all,
    changes: first.changes + all.changes,
    touches: first.touches + all.touches,
    ran: [...new Set([...first.ran, ...all.ran])],
    isWhole: true,
  }
}

async function findMember(zoo: ZooName, name: string): Promise<Member> {
  const member = (await loadZoo(zoo)).find(one => one.name === name)
  if (!member) throw new Error(`The zoo ${zoo} has no member ${name}`)
  return member
}

/** Topics of checks that are no operation are about several of them. */
const operationIds = new Set(operations.map(({ operationId }) => operationId))

function toChoice(member: Member): Omit<HuntOptions, 'stopsAtKill'> {
  const { of, kind, needs = [] } = member
  if (!of) return { isChosen: () => true, needs }
  const isChosen = (topic: string) => of.includes(topic) || (kind === undefined && !operationIds.has(topic))
  return {
    isChosen: ({ id }) => isChosen(id.slice(0, id.indexOf('/'))),
    needs: kind === undefined ? needs : ['training', 'retries'],
  }
}

const failuresWithout = new Map<string, Promise<Set<string>>>()

/** What fails without any fault when so much of the suite is run: nothing, or the suite is not to be trusted there. */
function healthyFailures(service: InProcess, options: HuntOptions, key: string): Promise<Set<string>> {
  const known = failuresWithout.get(key)
  if (known) return known
  const failures = hunt(service, null, { ...options, stopsAtKill: false }).then(({ failed }) => new Set(failed))
  failuresWithout.set(key, failures)
  return failures
}

const service = await startInProcess()

process.on('message', (request: HuntRequest) => {
  answer(service, request).then(
    reply => process.send?.({ reply }),
    error => process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  )
})
process.on('disconnect', () => {
  service.close().finally(() => process.exit())
})
// A fault may break what is no longer waited for.
process.on('unhandledRejection', () => {})
