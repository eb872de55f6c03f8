/** A program that measures what each check sends to our own service, and writes request-counts.ts anew. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Check, collectChecks } from '../../src/contract/check.ts'
import { isPolling } from '../../src/contract/dry-run.ts'
import type { CheckResult } from '../../src/contract/run-check.ts'
import { startInProcess } from './in-process.ts'
import { countOf } from './known-requests.ts'
import { runSuite } from './run-suite.ts'

const HEAD = `/** What each check sends to our own service, measured: \`node test/contract/measure-requests.ts\` writes it anew. */
`

function toText(checks: readonly Check[], results: readonly CheckResult[]): string {
  const polling = new Set(checks.filter(isPolling).map(({ id }) => id))
  const failed = new Set(results.filter(({ verdict }) => verdict !== 'pass').map(({ id }) => id))
  const ran = results.filter(({ verdict }) => verdict !== 'skip' && verdict !== 'disabled')
  const toTable = (name: string, isOf: (result: CheckResult) => boolean) => {
    // A number that differs from run to run, or that a failure cut short, is left as it is.
    const rows = ran.filter(isOf).map(({ id, requests }) => {
      const number = polling.has(id) || failed.has(id) ? (countOf(id)?.requests ?? requests) : requests
      return `  '${id}': ${number},\n`
    })
    return `export const ${name}: Readonly<Record<string, number>> = {\n${rows.join('')}}\n`
  }
  return [
    `${HEAD}\n/** Requests of checks that change nothing. */\n${toTable('READING', ({ writes }) => !writes)}`,
    `/** Requests of checks that may change the deployment. */\n${toTable('WRITING', ({ writes }) => writes)}`,
  ].join('\n')
}

const { results } = await runSuite(await startInProcess())
const failed = results.filter(({ verdict }) => verdict === 'fail' || verdict === 'warn')
for (const { id, message } of failed) process.stderr.write(`${id}: ${message}\n`)
writeFileSync(join(import.meta.dirname, 'request-counts.ts'), toText(collectChecks(), results))
process.exit(failed.length > 0 ? 1 : 0)
