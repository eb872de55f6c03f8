/** What a run of the contract tests prints at its end. */
import type { Operation } from '../spec/document.ts'
import type { CoverageReport, Finding } from './coverage.ts'

/** A row for each operation, a column for each declared status: requests, `-` where it was not exercised, blank where it is not declared. */
export function toCoverageTable(operations: readonly Operation[], { counts }: CoverageReport): string {
  const statuses = [...new Set(operations.flatMap(operation => [...operation.responses.keys()]))].filter(
    status => status !== 'default',
  )
  const columns = statuses.toSorted((a, b) => a - b)
  const rows = operations.map(({ operationId, responses }) => [
    operationId,
    ...columns.map(status => (responses.has(status) ? String(counts[operationId]?.[status] ?? '-') : '')),
  ])
  const table = [['operation', ...columns.map(String)], ...rows]
  const widths = table[0]!.map((_, column) => Math.max(...table.map(row => row[column]!.length)))
  const lines = table.map(row =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n${toSummary(operations, { counts, findings: [] })}`
}

function toSummary(operations: readonly Operation[], { counts }: CoverageReport): string {
  const declared = operations.flatMap(({ operationId, responses }) =>
    [...responses.keys()].map(status => counts[operationId]?.[status]),
  )
  const exercised = operations.filter(({ operationId }) => counts[operationId]).length
  return `${exercised} of ${operations.length} operations, ${declared.filter(Boolean).length} of ${declared.length} declared statuses exercised`
}

/** One line for each distinct finding, with how often it was seen. */
export function toFindingLines(findings: readonly Finding[]): string[] {
  const seen = new Map<string, number>()
  for (const finding of findings) {
    const line = `${finding.check} (${finding.status}) at ${finding.instancePath || 'the whole'}: ${finding.message} [${finding.pointer}]`
    seen.set(line, (seen.get(line) ?? 0) + 1)
  }
  return [...seen].map(([line, times]) => (times > 1 ? `${line}, ${times} times` : line))
}
