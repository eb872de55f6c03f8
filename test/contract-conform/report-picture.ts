/**
 * Makes the picture of the report page that stands in the README: a real run of the whole suite against our own
 * service with one fault. `npm run report:picture`; needs a Chromium (CHROMIUM names another than /usr/bin/chromium).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { createTerminalReport } from '../../src/contract/report/terminal.ts'
import { writeReports } from '../../src/contract/report/write-reports.ts'
import { startInProcess } from '../contract/in-process.ts'
import { runSuite } from '../contract/run-suite.ts'
import { changeJson, type Fault } from '../zoo/fault.ts'
import { startFaultProxy } from '../zoo/fault-proxy.ts'

const PICTURE = join(import.meta.dirname, '../../src/contract/report/report.png')
/** In CSS pixels. */
const VIEWPORT = { width: 1000, height: 860 }
const MARGIN = 16
const MOST_HEIGHT = 1400

const fault: Fault = {
  name: 'usage-sum',
  rule: 'createChatCompletion: usage.total_tokens is the sum of the others',
  breaks: 'total_tokens leaves out the tokens of the prompt',
  onReply: (reply, _, { operationId }) =>
    operationId !== 'createChatCompletion' || reply.status !== 200
      ? reply
      : changeJson<{ usage: { total_tokens: number; completion_tokens: number } }>(reply, completion => ({
          ...completion,
          usage: { ...completion.usage, total_tokens: completion.usage.completion_tokens },
        })),
}

const service = await startInProcess()
const proxy = await startFaultProxy(service.target, fault)
const folder = await mkdtemp(join(tmpdir(), 'contract-picture-'))
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
})
try {
  const report = await runSuite(proxy.target, { listener: createTerminalReport(process.stdout) })
  // The addresses of this machine tell a reader nothing.
  const shown = JSON.parse(JSON.stringify(report).replaceAll(proxy.target.baseUrl, 'https://trainyard.example'))
  const html = join(folder, 'report.html')
  await writeReports(shown, { html })
  const page = await browser.newPage({ viewport: VIEWPORT })
  await page.goto(pathToFileURL(html).href)
  const failure = page.locator('[data-outcome=fail]:has(.sides)').first()
  await failure.locator('summary').first().click()
  await failure.locator('.more details[open] > summary').click()
  const { bottom } = await page.evaluate<{ bottom: number }>("document.querySelector('table').getBoundingClientRect()")
  await page.screenshot({
    path: PICTURE,
    fullPage: true,
    clip: { x: 0, y: 0, width: VIEWPORT.width, height: Math.min(bottom + MARGIN, MOST_HEIGHT) },
  })
  process.stdout.write(`Written: ${PICTURE}\n`)
} finally {
  await browser.close()
  await proxy.close()
  await service.close()
  await rm(folder, { recursive: true, force: true })
}
