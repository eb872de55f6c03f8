/** Operations by status: what a run reached of what the contract declares. */
import type { Operation } from '../../spec/document.ts'
import type { CoverageReport } from '../coverage.ts'
import type { Profile } from '../target.ts'

export interface CoverageRow {
  operationId: string
  /** Requests by column; null: the operation does not declare the status. */
  cells: (number | null)[]
  /** Statuses that came and are not declared. */
  undeclared: number[]
}

export interface CoverageMatrix {
  statuses: number[]
  rows: CoverageRow[]
  exercisedOperations: number
  declaredStatuses: number
  reachedStatuses: number
  /** `<operationId>: <statuses>`. */
  notReached: string[]
}

export function toCoverageMatrix(
  operations: readonly Operation[],
  { counts }: Pick<CoverageReport, 'counts'>,
  profile: Profile = 'full',
): CoverageMatrix {
  const shown = operations.filter(({ origin }) => profile === 'full' || origin === 'interface')
  const declared = shown.map(({ responses }) => [...responses.keys()].filter(status => typeof status === 'number'))
  const statuses = [...new Set(declared.flat())].toSorted((a, b) => a - b)
  const rows = shown.map(({ operationId }, index) => ({
    operationId,
    cells: statuses.map(status => (declared[index]!.includes(status) ? (counts[operationId]?.[status] ?? 0) : null)),
    undeclared: Object.keys(counts[operationId] ?? {})
      .map(Number)
      .filter(status => !declared[index]!.includes(status)),
  }))
  const notReached = rows.flatMap(({ operationId, cells }) => {
    const missing = statuses.filter((_, column) => cells[column] === 0)
    return missing.length > 0 ? [`${operationId}: ${missing.join(', ')}`] : []
  })
  return {
    statuses,
    rows,
    exercisedOperations: shown.filter(({ operationId }) => counts[operationId]).length,
    declaredStatuses: declared.flat().length,
    reachedStatuses: rows.flatMap(({ cells }) => cells).filter(cell => cell !== null && cell > 0).length,
    notReached,
  }
}

/**
 * A row for each operation, a column for each declared status: requests, `-` where it was not reached, blank where it
 * is not declared.
 */
export function toCoverageTable({ statuses, rows }: CoverageMatrix): string {
  const table = [
    ['operation', ...statuses.map(String)],
    ...rows.map(({ operationId, cells }) => [
      operationId,
      ...cells.map(cell => (cell === null ? '' : String(cell || '-'))),
    ]),
  ]
  const widths = table[0]!.map((_, column) => Math.max(...table.map(row => row[column]!.length)))
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)
  return table.map(row => row.map(pad).join('  ').trimEnd()).join('\n')
}

export function toCoverageSummary({ rows, ...matrix }: CoverageMatrix): string {
  const operations = `${matrix.exercisedOperations} of ${rows.length} operations`
  return `${operations}, ${matrix.reachedStatuses} of ${matrix.declaredStatuses} declared statuses reached`
}
