import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { writeReports } from '../../src/contract/report/write-reports.ts'
import { operations } from '../../src/spec/document.ts'
import { HOSTILE, type ReportRun, runForReport, WRONG_STATUS } from './report-run.ts'

const chromiumFile = process.env.CHROMIUM ?? '/usr/bin/chromium'

describe.skipIf(!existsSync(chromiumFile))(`the page of a run (skipped where there is no ${chromiumFile})`, () => {
  let browser: Browser
  let run: ReportRun
  let folder: string
  let address: string
  let page: Page
  let requested: string[]
  let problems: string[]

  beforeAll(async () => {
    run = await runForReport()
    folder = await mkdtemp(join(tmpdir(), 'contract-page-'))
    await writeReports(run.report, { html: join(folder, 'a.html') })
    address = pathToFileURL(join(folder, 'a.html')).href
    browser = await chromium.launch({ executablePath: chromiumFile, args: ['--no-sandbox'] })
  }, 60_000)
  afterAll(async () => {
    await browser.close()
    await rm(folder, { recursive: true, force: true })
  })

  beforeEach(async () => {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, offline: true })
    page = await context.newPage()
    requested = []
    problems = []
    page.on('request', request => void requested.push(request.url()))
    page.on('console', message => void (message.type() === 'error' && problems.push(message.text())))
    page.on('pageerror', error => void problems.push(error.message))
    await page.goto(address)
  })
  afterEach(() => page.context().close())

  const items = () => page.locator('[data-outcome]:visible')
  const button = (name: string) => page.getByRole('button', { name })

  it('opens offline, without another request and without an error, and runs nothing that a service sent', async () => {
    expect(await page.title()).toMatch(/^Trainyard contract: 5 of 10 checks failed/)
    expect(requested.filter(url => !url.startsWith('data:'))).toEqual([address])
    expect(problems).toEqual([])
    await page.locator(`[id="createModel/takes-a-key-as-a-name"] summary`).first().click()
    await page.getByText(HOSTILE.replaceAll('"', '\\"')).first().waitFor()
  })

  it('shows what failed first, and the other verdicts when they are asked for', async () => {
    expect(await items().count()).toBe(7)
    await button('1 pass').click()
    expect(await items().count()).toBe(8)
    for (const name of ['4 fail', '1 unexpected-pass', '1 warn', '1 expected-fail']) await button(name).click()
    expect(await items().allInnerTexts()).toEqual([expect.stringContaining('getHealth/answers')])
    expect(await page.getByRole('status').innerText()).toBe('1 of 10 checks shown')
  })

  it('is walked with the keyboard alone: filter, open a failure, read it, reach the matrix', async () => {
    const reach = async (name: string) => {
      for (let steps = 0; steps < 60; steps++) {
        await page.keyboard.press('Tab')
        const focused = page.locator(':focus')
        if ((await focused.innerText()).includes(name) || (await focused.getAttribute('aria-label'))?.includes(name)) {
          expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), name).toBe('solid')
          return
        }
      }
      throw new Error(`${name} is not reached`)
    }
    await reach('Go to the checks')
    await reach('4 fail')
    await page.keyboard.press('Space')
    expect(await button('4 fail').getAttribute('aria-pressed')).toBe('false')
    await page.keyboard.press('Space')
    await reach(WRONG_STATUS)
    await page.keyboard.press('Enter')
    const failure = page.locator(`[id="${WRONG_STATUS}"]`)
    for (const text of ['status 404', 'status 200', 'spec/paths/health/health.yaml:', 'curl -i -X GET'])
      await failure.getByText(text).first().waitFor()
    await reach('Requests by operation and status')
  })

  it('goes to a check by its address, also when its verdict is not shown', async () => {
    await page.goto(`${address}#getHealth/answers`)
    await page.reload()
    await page.locator('[id="getHealth/answers"]').waitFor()
  })

  it('has the matrix of operations and statuses, and names what was not reached', async () => {
    const rows = page.locator('tbody tr')
    expect(await rows.count()).toBe(operations.length)
    const cells = rows.filter({ hasText: 'getHealth' }).locator('td')
    const columns = await page.locator('thead th').allInnerTexts()
    const cell = (status: number) => cells.nth(columns.indexOf(String(status)) - 1)
    expect(await cell(200).innerText()).toBe('2')
    expect(await cell(500).innerText()).toBe('0')
    expect(await cell(422).innerText()).toBe('')
    await page.getByText('Not reached: statuses of').click()
    await page.getByText('getHealth: 429, 500, 503', { exact: true }).waitFor()
  })

  it.each(['light', 'dark'] as const)('can be read in the %s', async colorScheme => {
    await page.emulateMedia({ colorScheme })
    const brightness = async (property: string) => {
      const colour = await page.evaluate<string>(`getComputedStyle(document.body).${property}`)
      return colour.match(/\d+/g)!.reduce((sum, part) => sum + Number(part), 0)
    }
    const [ground, ink] = [await brightness('backgroundColor'), await brightness('color')]
    expect(Math.sign(ground - ink)).toBe(colorScheme === 'light' ? 1 : -1)
    expect(Math.abs(ground - ink)).toBeGreaterThan(400)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  })
})
