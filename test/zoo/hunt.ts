/** Runs the suite, in a plain process, against one deployment of the zoo and tells which checks failed. */
import { stripVTControlCharacters } from 'node:util'
import type { Check, Need } from '../../src/contract/check.ts'
import { collectChecks } from '../../src/contract/check.ts'
import type { InProcess } from '../contract/in-process.ts'
import { createRunner } from '../contract/run-suite.ts'
import { cleanUp, configure, home, prepare, unknownId, withPrepared } from '../contract/setup.ts'
import type { Fault } from './fault.ts'
import { openZooDeployment } from './zoo-deployment.ts'
import '../contract/contract-files.ts'

export interface HuntOptions {
  /** Checks to run; what they build upon is run with them. */
  isChosen(check: Check): boolean
  /** Of those that cost much, what is switched on; everything else is. */
  needs: readonly Need[]
  /** The kill is what matters: nothing is run behind the first failure. */
  stopsAtKill: boolean
}

export interface Hunt {
  /** Ids of the checks that failed, in their order. */
  failed: string[]
  /** Ids of those that only warn. */
  warned: string[]
  /** Of the first failure, one line. */
  message: string
  /** Of the checks that were run, all. */
  ran: string[]
  /** How often the fault changed something. */
  changes: number
  /** How often it could have changed the time of something. */
  touches: number
  /** A check ran out of time, so something of it may still be going on. */
  isStuck: boolean
  milliseconds: number
}

/** Stands for the suite's own preparation in what failed. */
export const PREPARATION = 'prepare'

/** Switched on only where a fault names them. */
export const COSTLY: readonly Need[] = ['training', 'retries', 'inside']

/** A job of the tests takes less than a second; one that a fault keeps from ending is waited for so long. In milliseconds. */
const JOB_LIMIT_MS = 5000
/** No healthy check takes half as long. In milliseconds. */
const CHECK_LIMIT_MS = 20_000
const MESSAGE_LENGTH = 200

export async function hunt(service: InProcess, fault: Fault | null, options: HuntOptions): Promise<Hunt> {
  const start = performance.now()
  const deployment = await openZooDeployment(service, fault)
  const failed: string[] = []
  const warned: string[] = []
  const ran: string[] = []
  let message = ''
  let isStuck = false
  try {
    const given = withCosts(deployment.inProcess, options.needs)
    configure(given)
    await prepare()
    if (home.id === unknownId) {
      failed.push(PREPARATION)
      message = 'the model that checks share could not be made'
      deployment.pause()
      configure(given)
      await prepare()
      deployment.resume()
    }
    const checks = collectChecks()
    const chosen = checks.filter(options.isChosen)
    const isWhole = chosen.length === checks.length && COSTLY.every(need => options.needs.includes(need))
    const run = createRunner(null, isWhole)
    for (const check of withPredecessors(checks, chosen)) {
      if (options.stopsAtKill && failed.length > 0) break
      const result = await run(withPrepared({ ...check, timeoutMs: Math.min(check.timeoutMs, CHECK_LIMIT_MS) }))
      if (result.verdict === 'pass' || result.verdict === 'fail' || result.verdict === 'warn') ran.push(check.id)
      if (result.verdict === 'warn') warned.push(check.id)
      if (result.verdict !== 'fail') continue
      failed.push(check.id)
      message ||= toLine(result.message ?? '')
      if (result.message?.includes('It took longer than')) isStuck = true
    }
    deployment.pause()
    await cleanUp()
  } finally {
    await deployment.close()
  }
  const milliseconds = Math.round(performance.now() - start)
  return {
    ...{ failed, warned, message, ran, isStuck, milliseconds },
    changes: deployment.changes(),
    touches: deployment.touches(),
  }
}

/** Without `inside`, the suite gets the address alone, as of any deployment. */
function withCosts(inProcess: InProcess, needs: readonly Need[]): InProcess | InProcess['target'] {
  const target = {
    ...inProcess.target,
    jobTimeoutMs: JOB_LIMIT_MS,
    mayTrain: needs.includes('training'),
    mayRetry: needs.includes('retries'),
  }
  return needs.includes('inside') ? { ...inProcess, target } : target
}

/** What is chosen, with those before it in the same flow, in order. */
function withPredecessors(checks: readonly Check[], chosen: readonly Check[]): Check[] {
  const wanted = new Set(chosen)
  const flows = new Set<number>()
  for (const check of checks.toReversed()) {
    if (check.flow === null) continue
    if (flows.has(check.flow)) wanted.add(check)
    else if (wanted.has(check)) flows.add(check.flow)
  }
  return checks.filter(check => wanted.has(check))
}

function toLine(message: string): string {
  // Assertions colour what they compare.
  const plain = stripVTControlCharacters(message).replace(/\s+/g, ' ').trim()
  return plain.length > MESSAGE_LENGTH ? `${plain.slice(0, MESSAGE_LENGTH)}…` : plain
}
