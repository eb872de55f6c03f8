/** The report in the form that CI services read. */
import type { CheckResult } from '../run-check.ts'
import type { RunReport } from '../run-report.ts'
import { toSpecLine } from '../spec-line.ts'
import { toCurl } from './curl.ts'
import { escapeMarkup } from './markup.ts'
import { failsRun, toOutcome } from './outcome.ts'

/** A suite for each operation or topic. A warning passes, with its words as output, since it fails no run. */
export function toJUnit({ results, startedAt, durationMs, target }: RunReport): string {
  const suites = Map.groupBy(results, ({ id }) => id.slice(0, id.indexOf('/')))
  const all = [...suites].map(([topic, ofTopic]) => {
    const cases = ofTopic.map(toCase).join('\n')
    const where = `timestamp="${startedAt}" hostname="${escapeMarkup(target.baseUrl)}"`
    return `  <testsuite name="${escapeMarkup(topic)}" ${toFigures(ofTopic)} ${where}>\n${cases}\n  </testsuite>`
  })
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="Trainyard contract" ${toFigures(results, durationMs)}>`,
    ...all,
    '</testsuites>',
  ]
  return `${lines.join('\n')}\n`
}

function toFigures(results: CheckResult[], milliseconds = sum(results.map(result => result.milliseconds))): string {
  const counts = `tests="${results.length}" failures="${results.filter(failsRun).length}" errors="0"`
  return `${counts} skipped="${results.filter(isSkipped).length}" time="${milliseconds / 1000}"`
}

function isSkipped(result: CheckResult): boolean {
  return ['skip', 'disabled', 'expected-fail'].includes(toOutcome(result))
}

function toCase(result: CheckResult): string {
  const { id, message, source, milliseconds } = result
  const slash = id.indexOf('/')
  const names = `classname="${escapeMarkup(id.slice(0, slash))}" name="${escapeMarkup(id.slice(slash + 1))}"`
  const outcome = toOutcome(result)
  const words = escapeMarkup(message ?? '')
  const reason = escapeMarkup(result.expectedFailure ?? '')
  const first = escapeMarkup((message ?? outcome).split('\n')[0]!)
  const last = result.exchanges.at(-1)
  const details = escapeMarkup(
    [message, `${toSpecLine(source)} [${source}]`, ...(last ? [toCurl(last)] : [])].join('\n'),
  )
  const inner: Record<typeof outcome, string> = {
    fail: `<failure type="fail" message="${first}">${details}</failure>`,
    'unexpected-pass':
      '<failure type="unexpected-pass" message="it passed, but the file of expected failures names it"/>',
    'expected-fail': `<skipped message="expected to fail: ${reason}"/><system-out>${words}</system-out>`,
    warn: `<system-out>${details}</system-out>`,
    skip: `<skipped message="${first}"/>`,
    disabled: `<skipped message="${first}"/>`,
    pass: '',
  }
  return `    <testcase ${names} time="${milliseconds / 1000}">${inner[outcome]}</testcase>`
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
