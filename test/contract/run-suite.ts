/** A whole run of the checks against one deployment: prepares, runs, cleans up, reports. */
import { type Check, collectChecks, NEEDS } from '../../src/contract/check.ts'
import { makesWhatIsGiven } from '../../src/contract/dry-run.ts'
import type { ExpectedFailures } from '../../src/contract/expected-failures.ts'
import { markExpected } from '../../src/contract/expected-failures.ts'
import { type CheckResult, runCheck, toUnrun } from '../../src/contract/run-check.ts'
import { runInOrder } from '../../src/contract/run-in-order.ts'
import type { RunListener, RunReport } from '../../src/contract/run-report.ts'
import { toCoverageReport, toReportTarget } from '../../src/contract/run-report.ts'
import { EVERYTHING, findLeftOut, type Selection } from '../../src/contract/select-checks.ts'
import type { Target } from '../../src/contract/target.ts'
import type { InProcess } from './in-process.ts'
import {
  cleanUp,
  configure,
  coverage,
  isMet,
  limits,
  prepare,
  type RunOptions,
  runId,
  target,
  withPrepared,
} from './setup.ts'
import './contract-files.ts'
import { countOf } from './known-requests.ts'

export interface SuiteOptions extends RunOptions {
  selection: Selection
  /** Checks that run at once. */
  concurrency: number
  expected: ExpectedFailures
  listener: RunListener | null
  /** Ends the run when it is aborted, whose reason is told: nothing more is sent than what cleaning up takes. */
  signal: AbortSignal | null
}

/** What one run is about. */
export interface Plan {
  /** Every check, in the order of running. */
  checks: Check[]
  /** Why checks are left out, by id. */
  leftOut: ReadonlyMap<string, string>
}

/** The checks for a deployment, without sending anything. Configures for it. */
export function planSuite(given: Target | InProcess, selection: Selection, options: Partial<RunOptions> = {}): Plan {
  configure(given, options)
  const checks = collectChecks()
  return { checks, leftOut: findLeftOut(checks, selection) }
}

/** Never throws for what a deployment does. */
export async function runSuite(given: Target | InProcess, options: Partial<SuiteOptions> = {}): Promise<RunReport> {
  const { selection = EVERYTHING, concurrency = 1, expected = new Map<string, string>() } = options
  const { listener = null, signal = null } = options
  const startedAt = new Date()
  const start = performance.now()
  const { checks, leftOut } = planSuite(given, selection, options)
  const stopped = toStopped(signal)
  const run = createRunner(stopped, leftOut.size === 0)
  const chosen = checks.filter(({ id }) => !leftOut.has(id)).map(withPrepared)
  const what = { target: toReportTarget(target), profile: target.profile, runId }
  listener?.onStart({ ...what, checks: chosen.length })
  await prepare(chosen.filter(({ needs }) => needs.every(need => isMet(need))))
  const results = await runInOrder(chosen, concurrency, async check => {
    const [result] = markExpected([await run(check)], expected) as [CheckResult]
    listener?.onResult(result)
    return result
  })
  const left = await cleanUp()
  const byId = new Map(results.map(result => [result.id, result]))
  const report: RunReport = {
    ...what,
    startedAt: startedAt.toISOString(),
    durationMs: Math.round(performance.now() - start),
    requests: limits.sent(),
    results: checks.map(check => byId.get(check.id) ?? toUnrun(check, 'disabled', leftOut.get(check.id)!)),
    ...toCoverageReport(coverage),
    left,
    stopped: limits.stopped(),
  }
  listener?.onEnd(report)
  return report
}

/** Runs checks one after the other or side by side. A check is not run where the run has ended, or what it builds upon was skipped. */
export function createRunner(
  stopped: Promise<string> | null,
  isEverything: boolean,
): (check: Check) => Promise<CheckResult> {
  const skipped = new Map<number, string>()
  const failed = new Map<number, string>()
  return async check => {
    const { flow, isLast } = check
    const reason = whyNot(check) ?? (flow === null ? null : (skipped.get(flow) ?? null))
    if (reason !== null) {
      if (flow !== null) skipped.set(flow, reason)
      return toUnrun(check, 'skip', reason)
    }
    const isWhole = isEverything && limits.stopped() === null
    const judged = runCheck(check, need => isMet(need, isWhole), target.profile)
    const result = await (stopped && !isLast
      ? Promise.race([judged, stopped.then(why => toUnrun(check, 'skip', why))])
      : judged)
    if (flow === null) return result
    if (result.verdict === 'skip' || result.verdict === 'disabled') skipped.set(flow, result.message ?? '')
    const blamed = failed.get(flow)
    if (result.verdict !== 'fail') return result
    failed.set(flow, blamed ?? check.id)
    return blamed ? { ...result, message: `${result.message}\nIt builds upon ${blamed}, which failed` } : result
  }
}

function whyNot({ id, isLast, needs }: Check): string | null {
  if (target.isReadOnly && countOf(id)?.writes && !makesWhatIsGiven(needs)) return NEEDS.writes
  return isLast ? null : limits.stopped()
}

/** Resolves with the reason when the signal is aborted. */
function toStopped(signal: AbortSignal | null): Promise<string> | null {
  if (signal === null) return null
  return new Promise(resolve => {
    const stop = () => {
      limits.stop(String(signal.reason))
      resolve(String(signal.reason))
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}
