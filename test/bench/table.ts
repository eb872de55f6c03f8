import pc from 'picocolors'
import { formatFigure, type Result, type Target } from './trial.ts'

const HEAD = ['what', 'ours', 'peer', 'ratio', 'target', '']

/** The results as one table, columns padded; whether a target is met is said in words, not in colour alone. */
export function toTable(results: readonly Result[]): string {
  const rows = results.map(result => [
    result.what,
    `${formatFigure(result.oursMedian)} ${result.unit}${result.beside?.(result.ours) ?? ''}`,
    `${formatFigure(result.peerMedian)} ${result.unit}${result.beside?.(result.peer) ?? ''} (${result.peer})`,
    result.ratio.toPrecision(3),
    formatTarget(result.target),
    result.met ? pc.green('met') : pc.red('missed'),
  ])
  const widths = HEAD.map((title, column) =>
    Math.max(...[title, ...rows.map(row => row[column]!)].map(cell => cell.length)),
  )
  const toLine = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return [pc.bold(toLine(HEAD)), ...rows.map(toLine)].join('\n')
}

function formatTarget(target: Target): string {
  return 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
}
