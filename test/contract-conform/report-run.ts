/** A run of a few checks of every verdict against our own service, for the tests of the reports. */
import { type Check, SkipError, WarnError } from '../../src/contract/check.ts'
import { createContractClient } from '../../src/contract/client.ts'
import { createCoverage } from '../../src/contract/coverage.ts'
import { markExpected } from '../../src/contract/expected-failures.ts'
import { type CheckResult, runCheck } from '../../src/contract/run-check.ts'
import { type RunReport, toCoverageReport, toReportTarget } from '../../src/contract/run-report.ts'
import { operationById } from '../../src/spec/document.ts'
import { startInProcess } from '../contract/in-process.ts'

export interface ReportRun {
  report: RunReport
  /** Everything that no report may hold. */
  secrets: string[]
}

/** Text of a script that the page must show, not run. */
export const HOSTILE = '<script>document.title = "run"</script>'
export const WRONG_STATUS = 'getHealth/answers-404'

export async function runForReport(): Promise<ReportRun> {
  const { target, close } = await startInProcess()
  try {
    const coverage = createCoverage(target.profile)
    const client = createContractClient(target, coverage)
    const login = Buffer.from(target.basic).toString('base64')
    const inAddress = 'an-address-password'
    const checks = [
      toCheck('getHealth/answers', () => client.ok('getHealth')),
      toCheck(WRONG_STATUS, () => client.refused('getHealth', 404)),
      // What a careless service might send back, in every part of an exchange.
      toCheck('createModel/takes-a-key-as-a-name', () =>
        client.refused('createModel', 404, {
          body: { project: HOSTILE, name: target.apiKey, base_model: `${target.secondApiKey} "${login}"` },
          headers: { 'x-request-id': target.apiKey, cookie: `session=${inAddress}` },
        }),
      ),
      toCheck('deleteScorer/takes-basic', async () => {
        const path = { entity: 'default', project: encodeURIComponent(target.apiKey), object_id: target.secondApiKey! }
        await client.refused('deleteScorer', 200, { path })
        throw new Error(`It holds ${target.apiKey}`)
      }),
      toCheck('listModels/is-for-another', () =>
        client.refused('listModels', 404, { as: { bearer: target.secondApiKey! } }),
      ),
      toCheck('listModels/warns', () => {
        throw new WarnError('it should not')
      }),
      toCheck('listModels/skips', () => {
        throw new SkipError('no key of another team was given')
      }),
      toCheck('listModels/is-known-to-fail', () => client.refused('listModels', 404)),
      toCheck('listModels/was-known-to-fail', () => client.ok('listModels')),
    ]
    const results: CheckResult[] = []
    for (const check of checks) results.push(await runCheck(check, () => true, target.profile))
    const disabled = { ...results[0]!, id: 'getHealth/left-out', verdict: 'disabled' as const, message: 'by --filter' }
    const expected = new Map([
      ['listModels/is-known-to-fail', 'a ticket'],
      ['listModels/was-known-to-fail', ''],
    ])
    const report: RunReport = {
      ...toCoverageReport(coverage),
      target: toReportTarget({ ...target, baseUrl: target.baseUrl.replace('//', `//user:${inAddress}@`) }),
      profile: target.profile,
      runId: 'contract-1',
      startedAt: '2026-11-21T10:15:30.127Z',
      durationMs: 1234,
      requests: 7,
      results: markExpected([...results, disabled], expected),
      left: [`model of ${target.apiKey}`],
      stopped: null,
    }
    return { report, secrets: [target.apiKey, target.secondApiKey!, login, inAddress] }
  } finally {
    await close()
  }
}

function toCheck(id: string, run: () => unknown): Check {
  const operation = operationById(id.slice(0, id.indexOf('/')))
  return {
    ...{ id, source: `${operation.pointer}/description`, level: 'MUST', needs: [], timeoutMs: 10_000 },
    ...{ isLast: false, usesHome: false, flow: null, lane: null, isAlone: false, tag: '', requests: null },
    run: async () => void (await run()),
  }
}
