/** The report on a terminal: how far the run is, what fails as soon as it does, and a sum at the end. */
import picocolors from 'picocolors'
import { operations } from '../../spec/document.ts'
import { redact } from '../redact.ts'
import type { CheckResult } from '../run-check.ts'
import type { RunListener, RunReport } from '../run-report.ts'
import { toSpecLine } from '../spec-line.ts'
import { toCoverageMatrix, toCoverageSummary, toCoverageTable } from './coverage-matrix.ts'
import { toCurl } from './curl.ts'
import { failsRun, type Outcome, toCountsText, toOutcome } from './outcome.ts'

export interface TerminalOutput {
  write(text: string): unknown
  isTTY?: boolean
  columns?: number
}

/** Where nobody watches a counter move, a line tells after so many checks how far the run is. */
const CHECKS_PER_LINE = 100
const DEFAULT_COLUMNS = 80
/** Of what was found, in lines: the page and the JSON report have all of it. */
const MESSAGE_LINES = 12
const ERASE_LINE = '\r\u001b[2K'

export function createTerminalReport(output: TerminalOutput, colored = output.isTTY === true): RunListener {
  const colors = picocolors.createColors(colored)
  const paint: Record<Outcome, (text: string) => string> = {
    fail: colors.red,
    'unexpected-pass': colors.red,
    warn: colors.yellow,
    'expected-fail': colors.yellow,
    skip: colors.dim,
    disabled: colors.dim,
    pass: colors.green,
  }
  const done: CheckResult[] = []
  let checks = 0
  const print = (text: string) => output.write(`${output.isTTY ? ERASE_LINE : ''}${redact(text)}\n`)
  const progress = () => `${done.length} of ${checks} checks: ${toCountsText(done)}`

  function toBlock(result: CheckResult): string {
    const outcome = toOutcome(result)
    const { id, message, expected, seen, source, exchanges, expectedFailure } = result
    const last = exchanges.at(-1)
    const lines = [
      ...toLines(outcome === 'unexpected-pass' ? `it passed, and was expected to fail: ${expectedFailure}` : message),
      ...(expected === null || seen === null ? [] : [`expected: ${oneLine(expected)}`, `seen:     ${oneLine(seen)}`]),
      `contract: ${toSpecLine(source)} (${source})`,
      ...(last ? [`repeat:   ${toCurl(last)}`] : []),
    ]
    return `${paint[outcome](`${outcome} ${id}`)}\n${lines.map(line => `    ${line}`).join('\n')}`
  }

  return {
    onStart({ target, profile, runId, checks: count }) {
      checks = count
      print(`${target.baseUrl}, profile ${profile}, run ${runId}, ${count} checks`)
    },
    onResult(result) {
      done.push(result)
      if (failsRun(result)) print(toBlock(result))
      if (output.isTTY) output.write(ERASE_LINE + progress().slice(0, (output.columns ?? DEFAULT_COLUMNS) - 1))
      else if (done.length % CHECKS_PER_LINE === 0) print(progress())
    },
    onEnd(report) {
      print(toSummary(report, toBlock))
    },
  }
}

function toSummary(report: RunReport, toBlock: (result: CheckResult) => string): string {
  const { results, left, stopped, durationMs, requests } = report
  const matrix = toCoverageMatrix(operations, report, report.profile)
  const warned = results.filter(result => toOutcome(result) === 'warn' || toOutcome(result) === 'expected-fail')
  const skipped = Map.groupBy(
    results.filter(({ verdict }) => verdict === 'skip' || verdict === 'disabled'),
    ({ verdict, message }) => `${verdict}: ${message}`,
  )
  // Marks of expected failures may be known at the end only, and then every failure is shown with what it came to.
  const passed = results.filter(result => toOutcome(result) === 'unexpected-pass')
  return [
    ...(warned.length > 0 ? ['', ...warned.map(toBlock)] : []),
    ...(passed.length > 0 ? ['', ...passed.map(toBlock)] : []),
    '',
    toCoverageTable(matrix),
    ...(matrix.notReached.length > 0 ? ['', 'Not reached:', ...indent(matrix.notReached)] : []),
    ...(skipped.size > 0 ? ['', ...[...skipped].map(([reason, of]) => `${of.length} ${reason}`)] : []),
    ...(left.length > 0 ? ['', 'Left behind:', ...indent(left)] : []),
    ...(stopped === null ? [] : ['', `The run ended before its last check: ${stopped}`]),
    '',
    toCoverageSummary(matrix),
    `${results.length} checks: ${toCountsText(results)}; ${requests} requests in ${(durationMs / 1000).toFixed(1)} s`,
  ].join('\n')
}

function indent(lines: readonly string[]): string[] {
  return lines.map(line => `  ${line}`)
}

function toLines(message: string | null): string[] {
  const lines = (message ?? '').split('\n')
  return lines.length > MESSAGE_LINES
    ? [...lines.slice(0, MESSAGE_LINES), `… ${lines.length - MESSAGE_LINES} more lines`]
    : lines
}

/** Enough to see the difference by, in characters. */
const COMPARISON_LENGTH = 300

function oneLine(text: string): string {
  const line = text.replace(/\s*\n\s*/g, ' ')
  return line.length > COMPARISON_LENGTH ? `${line.slice(0, COMPARISON_LENGTH)}…` : line
}
