import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildDocs, ensureDocs } from '../../src/generate/docs.ts'
import { listOperations, type OpenApiDocument } from '../../src/generate/document.ts'

const chromiumFile = process.env.CHROMIUM ?? '/usr/bin/chromium'
const documentFile = join(import.meta.dirname, '../../generated/openapi.json')
const readDocument = async () => JSON.parse(await readFile(documentFile, 'utf8')) as OpenApiDocument
let folder: string
let page: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trainyard-docs-test-'))
  page = await buildDocs(join(folder, 'docs.html'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the docs page', () => {
  test('loads nothing from another host', async () => {
    const text = await readFile(page, 'utf8')
    expect(text).not.toMatch(/cdn\.redoc/)
    expect(text).not.toMatch(/<(script|img|iframe)[^>]*\ssrc=["']?https?:/)
    expect(text).not.toMatch(/<link[^>]*\shref=["']?https?:/)
  })

  test('is built again when it is missing or made from another document, and else left alone', async () => {
    const file = join(folder, 'again.html')
    await ensureDocs(file)
    const first = await stat(file)
    await ensureDocs(file)
    expect((await stat(file)).ino).toBe(first.ino)

    const built = await readFile(file, 'utf8')
    await writeFile(file, built.replace(/(document-digest" content=")[0-9a-f]+/, '$1' + '0'.repeat(64)))
    await Promise.all([ensureDocs(file), ensureDocs(file)])
    expect(await readFile(file, 'utf8')).toBe(built)
  })
})

describe.skipIf(!existsSync(chromiumFile))(
  `the docs page in a browser (skipped where there is no ${chromiumFile})`,
  () => {
    let browser: Browser
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: chromiumFile, args: ['--no-sandbox'] })
    })
    afterAll(() => browser.close())

    test('shows every operation and the webhook, without another request and without a console error', async () => {
      const document = await readDocument()
      const served: string[] = []
      const html = await readFile(page)
      const server = createServer((request, response) => {
        served.push(request.url ?? '')
        response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(html)
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/docs`
      try {
        const tab = await browser.newPage({ viewport: { width: 1400, height: 1000 } })
        const [requested, problems] = [[] as string[], [] as string[]]
        // blob: and data: addresses are inside the page
        tab.on('request', request => void (request.url().startsWith('http') && requested.push(request.url())))
        tab.on('console', message => void (message.type() === 'error' && problems.push(message.text())))
        tab.on('pageerror', error => void problems.push(error.message))
        await tab.goto(address, { waitUntil: 'networkidle' })

        const webhooks = Object.values(document.webhooks ?? {}).map(webhook => webhook.post!)
        expect(webhooks.length).toBeGreaterThan(0)
        const operations = [...listOperations(document).map(({ operation }) => operation), ...webhooks]
        for (const { name } of document.tags) {
          await tab.getByText(name, { exact: true }).first().click()
          const summaries = operations.filter(({ tags }) => tags.includes(name)).map(({ summary }) => summary)
          for (const summary of summaries) await tab.getByText(summary, { exact: true }).first().waitFor()
          await tab.getByText(summaries[0]!, { exact: true }).first().click()
          await tab.getByRole('heading', { name: summaries[0]! }).first().waitFor()
        }
        await tab.getByAltText('redocly logo').waitFor()
        expect(problems).toEqual([])
        expect(requested).toEqual([address])
        expect(served).toEqual(['/docs'])
      } finally {
        server.close()
      }
    })
  },
)
