/** Which operations and declared statuses were exercised, and what went against the contract. */
import type { Operation } from '../spec/document.ts'
import type { Exchange } from './conforming-fetch.ts'
import { redact } from './redact.ts'
import { type Severity, severityOf } from './severity.ts'
import type { Profile } from './target.ts'

export interface Finding {
  /** `<operationId>/<rule>`. */
  check: string
  status: number
  message: string
  pointer: string
  instancePath: string
  /** warn: by the profile, the rule does not bind the deployment. */
  severity: Exclude<Severity, 'none'>
}

export interface CoverageReport {
  /** Requests by operation and status. */
  counts: Record<string, Record<string, number>>
  findings: Finding[]
}

export interface Coverage extends CoverageReport {
  record(exchange: Exchange): void
}

export function createCoverage(profile: Profile = 'full'): Coverage {
  const counts: CoverageReport['counts'] = {}
  const findings: Finding[] = []
  return {
    counts,
    findings,
    record({ operation, status, violations, method, url }) {
      const name = operation?.operationId ?? `${method} ${new URL(url).pathname}`
      if (operation) {
        const ofOperation = counts[name] ?? {}
        counts[name] = ofOperation
        ofOperation[status] = (ofOperation[status] ?? 0) + 1
      }
      for (const violation of violations) {
        const severity = severityOf(violation, profile)
        if (severity === 'none') continue
        const { rule, message, pointer, instancePath } = violation
        findings.push({ check: `${name}/${rule}`, status, message: redact(message), pointer, instancePath, severity })
      }
    },
  }
}

/** `<operationId> <status>` for every declared status that was not exercised, those that are excepted left out. */
export function findMissing(
  operations: readonly Operation[],
  { counts }: CoverageReport,
  isExcepted: (operation: Operation, status: number) => boolean,
): string[] {
  return operations.flatMap(operation =>
    [...operation.responses.keys()]
      .filter(status => typeof status === 'number')
      .filter(status => !isExcepted(operation, status) && !counts[operation.operationId]?.[status])
      .map(status => `${operation.operationId} ${status}`),
  )
}
