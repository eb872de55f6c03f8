/** Hunts faults with other tools: each on a deployment of its own in front of one service, with things of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { OperationId } from '../../src/contract/client.ts'
import { operations } from '../../src/spec/document.ts'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import { configure, prepare } from '../contract/setup.ts'
import type { Fault } from './fault.ts'
import { toExamples, toFetch, toRequests } from './peer-requests.ts'
import type { PeerOutcome } from './peer-table.ts'
import { makeSharedThings, makeThings, type SharedThings } from './peer-things.ts'
import { type PeerTool, startPeerTools } from './peer-tools.ts'
import { openZooDeployment } from './zoo-deployment.ts'
import type { Member } from './zoos.ts'

export interface PeerHunt {
  tools: PeerTool[]
  /** Why other tools are left out. */
  missing: string[]
  /** By the tool's name. */
  hunt(member: Member): Promise<Record<string, PeerOutcome>>
  close(): Promise<void>
}

/** Where a fault is about every operation, or about none, the tools are run on these, or on those that it touches. */
const GENERAL: readonly OperationId[] = ['createModel', 'getModel', 'listModels', 'createChatCompletion']
const MOST_OPERATIONS = 4
const PROBE_LIMIT_MS = 5000

interface Stand {
  service: InProcess
  shared: SharedThings
}

export async function openPeerHunt(): Promise<PeerHunt> {
  const folder = await mkdtemp(join(tmpdir(), 'peers-'))
  let stand = await openStand()
  const { tools, missing, close } = await startPeerTools(new URL(stand.service.target.baseUrl).pathname, folder)
  const healthy = new Map<PeerTool, Set<string>>(tools.map(tool => [tool, new Set()]))
  const tried = new Set<string>()

  async function judge(tool: PeerTool, fault: Fault | null, ids: ReadonlySet<OperationId>) {
    const examples = toExamples(await makeThings(stand.shared, ids), ids)
    const deployment = await openZooDeployment(stand.service, fault)
    try {
      const { baseUrl, apiKey } = deployment.inProcess.target
      const findings = await tool.judge(baseUrl, apiKey, examples)
      return { findings, changes: deployment.changes() }
    } finally {
      await deployment.close()
    }
  }

  async function huntWith(tool: PeerTool, member: Member, ids: ReadonlySet<OperationId>): Promise<PeerOutcome> {
    const { findings, changes } = await judge(tool, member, ids)
    const known = healthy.get(tool)!
    const isNew = () => changes > 0 && findings.some(finding => !known.has(finding))
    const key = `${tool.name} ${[...ids].sort().join(' ')}`
    // The healthy service is only tried where it matters.
    if (isNew() && !tried.has(key)) {
      for (const finding of (await judge(tool, null, ids)).findings) known.add(finding)
      tried.add(key)
    }
    return isNew() ? 'found' : 'missed'
  }

  return {
    tools,
    missing,
    async hunt(member) {
      const ids = await toIds(stand, member)
      const outcomes: Record<string, PeerOutcome> = {}
      const hunts = tools.map(async tool => {
        outcomes[tool.name] = await huntWith(tool, member, ids).catch(error => ({ trouble: (error as Error).message }))
      })
      await Promise.all(hunts)
      // A tool may have deleted what everything else needs, such as the key.
      if (!(await isUsable(stand))) {
        await stand.service.close()
        stand = await openStand()
      }
      return outcomes
    },
    async close() {
      await close()
      await stand.service.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function openStand(): Promise<Stand> {
  const service = await startInProcess()
  configure(service)
  await prepare()
  return { service, shared: await makeSharedThings() }
}

async function isUsable({ shared }: Stand): Promise<boolean> {
  return makeThings(shared, new Set()).then(
    () => true,
    () => false,
  )
}

/** The tools receive no webhooks, so that a fault of deliveries alone is out of their reach. */
export function isInReach({ onRequest, onReply, onEvents }: Fault): boolean {
  return [onRequest, onReply, onEvents].some(hook => hook !== undefined)
}

async function toIds(stand: Stand, member: Member): Promise<ReadonlySet<OperationId>> {
  const named = (member.of ?? member.operations) as readonly OperationId[] | undefined
  if (named && named.length > 0) return new Set(named.slice(0, MOST_OPERATIONS))
  const touched = await findTouched(stand, member, GENERAL)
  const others = operations.map(({ operationId }) => operationId as OperationId).filter(id => !GENERAL.includes(id))
  if (touched.size < MOST_OPERATIONS)
    for (const id of await findTouched(stand, member, others, MOST_OPERATIONS - touched.size)) touched.add(id)
  return touched.size > 0 ? touched : new Set(GENERAL)
}

/** Those of the operations whose known traffic the fault changes. */
async function findTouched(
  { service, shared }: Stand,
  member: Member,
  among: readonly OperationId[],
  most = MOST_OPERATIONS,
): Promise<Set<OperationId>> {
  const ids = new Set(among)
  const examples = toExamples(await makeThings(shared, ids), ids)
  const deployment = await openZooDeployment(service, member)
  const touched = new Set<OperationId>()
  try {
    const { baseUrl, apiKey } = deployment.inProcess.target
    for (const request of toRequests(examples, apiKey)) {
      if (touched.size >= most) break
      const before = deployment.changes()
      const [url, init] = toFetch(request, baseUrl)
      const send = async () => (await fetch(url, { ...init, signal: AbortSignal.timeout(PROBE_LIMIT_MS) })).text()
      await send().catch(() => '')
      if (deployment.changes() > before) touched.add(request.operation.operationId as OperationId)
    }
  } finally {
    await deployment.close()
  }
  return touched
}
