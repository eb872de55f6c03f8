/** The report as data, for other programs. */
import { operations } from '../../spec/document.ts'
import type { RunReport } from '../run-report.ts'
import { toSpecLine } from '../spec-line.ts'
import { toCoverageMatrix } from './coverage-matrix.ts'
import { toCurl } from './curl.ts'
import { countOutcomes, failsRun, toOutcome } from './outcome.ts'

/**
 * The run's own data, and what every other report derives from it: outcomes, lines of the contract, requests to
 * repeat.
 */
export function toJsonReport(report: RunReport): string {
  const { counts, results, findings, ...run } = report
  const { statuses, rows, ...coverage } = toCoverageMatrix(operations, report, report.profile)
  const document = {
    ...run,
    failed: results.some(failsRun),
    outcomes: countOutcomes(results),
    results: results.map(result => ({
      ...result,
      outcome: toOutcome(result),
      specLine: toSpecLine(result.source),
      exchanges: result.exchanges.map(exchange => ({ ...exchange, curl: toCurl(exchange) })),
    })),
    coverage: { ...coverage, counts },
    findings: findings.map(finding => ({ ...finding, specLine: toSpecLine(finding.pointer) })),
  }
  return `${JSON.stringify(document, null, 2)}\n`
}
