/** What a run found, as data: every report (terminal, JSON, JUnit, page, badge) is made from this alone. Holds no credentials. */
import type { Coverage, CoverageReport } from './coverage.ts'
import type { CheckResult } from './run-check.ts'
import { type Profile, type Target, withoutCredentials } from './target.ts'

/** A deployment as a report may name it. */
export interface ReportTarget {
  /** Without credentials. */
  baseUrl: string
  /** Without credentials. */
  inferenceUrl: string
  baseModel: string
  isMock: boolean
  isReadOnly: boolean
  hasSecondKey: boolean
}

export interface RunReport extends CoverageReport {
  target: ReportTarget
  profile: Profile
  runId: string
  /** RFC 3339, UTC. */
  startedAt: string
  durationMs: number
  /** Those of preparing and cleaning up included. */
  requests: number
  /** In the order in which the checks are declared. */
  results: CheckResult[]
  /** What the run left on the deployment; lines that begin with CANNOT_BE_DELETED name kinds that no operation deletes. */
  left: string[]
  /** Why the run ended before its last check, such as a signal; null: it did not. */
  stopped: string | null
}

/** Begins the lines of `left` which are no fault of the deployment or the suite. */
export const CANNOT_BE_DELETED = 'cannot be deleted: '

/** Where reports are written; null: nowhere. */
export interface ReportFiles {
  json: string | null
  junit: string | null
  html: string | null
  badge: string | null
}

/** Told what happens while a run goes on. */
export interface RunListener {
  onStart(run: { target: ReportTarget; profile: Profile; runId: string; checks: number }): void
  /** In the order in which checks end. */
  onResult(result: CheckResult): void
  onEnd(report: RunReport): void
}

export function toReportTarget(target: Target): ReportTarget {
  return {
    baseUrl: withoutCredentials(target.baseUrl),
    inferenceUrl: withoutCredentials(target.inferenceUrl),
    baseModel: target.baseModel,
    isMock: target.isMock,
    isReadOnly: target.isReadOnly,
    hasSecondKey: target.secondApiKey !== null,
  }
}

/** The part of a report that a Coverage holds. */
export function toCoverageReport({ counts, findings }: Coverage): CoverageReport {
  return { counts, findings }
}
