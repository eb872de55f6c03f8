import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCoverageMatrix, toCoverageSummary, toCoverageTable } from '../../src/contract/report/coverage-matrix.ts'
import { toCurl } from '../../src/contract/report/curl.ts'
import { toFindingLines } from '../../src/contract/report/finding-lines.ts'
import { OUTCOME_NAMES, toLegend, toOutcome } from '../../src/contract/report/outcome.ts'
import { createTerminalReport } from '../../src/contract/report/terminal.ts'
import { writeReports } from '../../src/contract/report/write-reports.ts'
import { toOperations } from '../../src/spec/document.ts'
import { HOSTILE, type ReportRun, runForReport, WRONG_STATUS } from './report-run.ts'

let run: ReportRun
let folder: string
let texts: Record<'json' | 'junit' | 'html' | 'badge', string>

beforeAll(async () => {
  run = await runForReport()
  folder = await mkdtemp(join(tmpdir(), 'contract-report-'))
  const at = (name: string) => join(folder, 'new', name)
  const files = { json: at('a.json'), junit: at('a.xml'), html: at('a.html'), badge: at('a.svg') }
  expect(await writeReports(run.report, files)).toEqual(Object.values(files))
  const entries = Object.entries(files).map(async ([form, path]) => [form, await readFile(path, 'utf8')])
  texts = Object.fromEntries(await Promise.all(entries))
}, 60_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

function print(columns?: number): string {
  let text = ''
  const output = { write: (more: string) => (text += more), ...(columns ? { isTTY: true, columns } : {}) }
  const { report } = run
  const terminal = createTerminalReport(output, false)
  terminal.onStart({ ...report, checks: report.results.length })
  for (const result of report.results) terminal.onResult(result)
  terminal.onEnd(report)
  return text
}

describe('no report', () => {
  it('holds a credential, wherever in an exchange it stood', () => {
    for (const [name, text] of Object.entries({ ...texts, terminal: print() })) {
      for (const secret of run.secrets) {
        expect(text.includes(secret), `${name} holds ${secret}`).toBe(false)
        expect(text.includes(encodeURIComponent(secret)), `${name} holds ${secret}`).toBe(false)
      }
    }
  })

  it('leaves a request out for that: what stood there is marked, and can be put in again', () => {
    expect(texts.json).toContain('authorization: Bearer $API_KEY')
    expect(texts.json).toContain('authorization: Bearer $SECOND_API_KEY')
    expect(texts.json).toContain('-u \\"$BASIC\\"')
  })
})

describe('the JSON report', () => {
  it('has every result with its outcome, the line of the contract and a request to repeat', () => {
    const report = JSON.parse(texts.json)
    expect(report).toMatchObject({ failed: true, profile: 'full', requests: 7, runId: 'contract-1' })
    expect(report.outcomes).toEqual({
      ...{ fail: 4, 'unexpected-pass': 1, warn: 1, 'expected-fail': 1, skip: 1, disabled: 1, pass: 1 },
    })
    expect(report.results.find(({ id }: { id: string }) => id === WRONG_STATUS)).toMatchObject({
      outcome: 'fail',
      expected: 'status 404',
      seen: 'status 200',
      specLine: expect.stringMatching(/^spec\/paths\/health\/health\.yaml:\d+$/),
      exchanges: [{ operationId: 'getHealth', status: 200, curl: expect.stringMatching(/^curl -i -X GET 'http/) }],
    })
    expect(report.coverage.counts.getHealth).toEqual({ 200: 2 })
  })
})

describe('the JUnit report', () => {
  it('counts what fails the run as failures, and nothing else', () => {
    expect(texts.junit).toMatch(
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuites name="Trainyard contract" tests="10" failures="5"/,
    )
    expect(texts.junit.match(/<failure /g)).toHaveLength(5)
    expect(texts.junit.match(/<skipped /g)).toHaveLength(3)
    expect(texts.junit).toContain('<testcase classname="getHealth" name="answers-404"')
    expect(texts.junit).not.toContain('<script')
  })
})

describe('the badge', () => {
  it('says how many failed', () => {
    expect(texts.badge).toContain('aria-label="Trainyard contract: 5 failed"')
    expect(texts.badge).not.toMatch(/href|url\((?!#)/)
  })
})

describe('the page', () => {
  it('is whole in itself, and shows texts as texts', () => {
    expect(texts.html).not.toMatch(/(src|href)="?(https?:)?\/\//)
    expect(texts.html).not.toContain(HOSTILE)
    expect(texts.html).toContain('&lt;script&gt;')
  })
})

describe('the terminal', () => {
  it('shows what failed when it does, with both sides, the line of the contract and a request to repeat', () => {
    const text = print()
    const at = text.indexOf(`fail ${WRONG_STATUS}`)
    expect(text.slice(at).split('\n').slice(1, 6)).toEqual([
      expect.stringContaining('getHealth answered 200 instead of 404'),
      '    expected: status 404',
      '    seen:     status 200',
      expect.stringMatching(/^ {4}contract: spec\/paths\/health\/health\.yaml:\d+ /),
      expect.stringMatching(/^ {4}repeat: {3}curl -i -X GET /),
    ])
    expect(text).toContain('unexpected-pass listModels/was-known-to-fail')
    expect(text).toContain(
      '10 checks: 4 fail, 1 unexpected-pass, 1 warn, 1 expected-fail, 1 skip, 1 disabled, 1 pass; 7 requests',
    )
    expect(text).not.toContain('\r')
  })

  it('counts on one line where somebody watches', () => {
    const lines = print(40).split('\r\u001b[2K')
    expect(lines).toContainEqual('1 of 10 checks: 1 pass')
    expect(lines.filter(line => /^\d+ of/.test(line)).every(line => line.length < 40)).toBe(true)
  })
})

describe('outcomes', () => {
  it('all have a meaning and an advice in the legend', () => {
    for (const name of OUTCOME_NAMES) expect(toLegend()).toMatch(new RegExp(`^  ${name} +\\S.+\\. .+\\.$`, 'm'))
  })

  it('of a check that is expected to fail', () => {
    const base = run.report.results[0]!
    const outcomes = (['fail', 'warn', 'pass', 'skip', 'disabled'] as const).map(verdict =>
      toOutcome({ ...base, verdict, expectedFailure: '' }),
    )
    expect(outcomes).toEqual(['expected-fail', 'expected-fail', 'unexpected-pass', 'skip', 'disabled'])
  })
})

describe('coverage', () => {
  const operations = toOperations({
    paths: {
      '/x': {
        get: { operationId: 'getX', 'x-origin': 'interface', responses: { 200: {}, 404: {} } },
        post: { operationId: 'createX', 'x-origin': 'extension', responses: { 200: {}, 422: {}, 500: {} } },
      },
    },
  })
  const counts = { getX: { 200: 3, 302: 1 }, createX: { 422: 1 } }

  it('is a table with a sum, and names what was not reached', () => {
    const matrix = toCoverageMatrix(operations, { counts })
    expect(toCoverageTable(matrix).split('\n')).toEqual([
      'operation  200  404  422  500',
      'getX         3    -',
      'createX      -         1    -',
    ])
    expect(toCoverageSummary(matrix)).toBe('2 of 2 operations, 2 of 5 declared statuses reached')
    expect(matrix.notReached).toEqual(['getX: 404', 'createX: 200, 500'])
    expect(matrix.rows.map(({ undeclared }) => undeclared)).toEqual([[302], []])
  })

  it('is of the interface alone in its profile', () => {
    expect(toCoverageMatrix(operations, { counts }, 'interface').rows.map(row => row.operationId)).toEqual(['getX'])
  })
})

describe('findings', () => {
  it('are named once each, with the line of the contract', () => {
    const pointer = '/components/schemas/Model/properties/id/format'
    const finding = { check: 'getX/schema', status: 200, message: 'is wrong', pointer, instancePath: '/a' }
    const lines = toFindingLines([
      { ...finding, severity: 'fail' },
      { ...finding, severity: 'fail' },
    ])
    expect(lines).toEqual([
      expect.stringMatching(/^getX\/schema \(200\) at \/a: is wrong \[spec\/schemas\/Model\.yaml:\d+\], 2 times$/),
    ])
  })
})

describe('a request to repeat', () => {
  it('is quoted for a shell, whatever it holds', () => {
    const exchange = {
      ...{
        operationId: null,
        method: 'POST',
        url: 'http://h/a',
        status: 200,
        replyHeaders: {},
        replyBody: '',
        violations: [],
      },
      requestHeaders: { authorization: 'Bearer [API_KEY]', 'content-length': '3' },
    }
    expect(toCurl({ ...exchange, requestBody: `{"a":"it's $x"}` })).toBe(
      `curl -i -X POST 'http://h/a' -H "authorization: Bearer $API_KEY" --data-raw '{"a":"it'\\''s $x"}'`,
    )
    expect(toCurl({ ...exchange, requestBody: '{"a":"[API_KEY] $x `y`"}' })).toContain(
      '--data-raw "{\\"a\\":\\"$API_KEY \\$x \\`y\\`\\"}"',
    )
  })
})
