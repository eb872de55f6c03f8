import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runContract } from '../../src/contract/run.ts'

const KEY = ['--api-key', 'a-key-that-is-long-enough']

afterEach(() => {
  vi.restoreAllMocks()
})

async function run(args: string[]): Promise<{ code: number; text: string }> {
  let text = ''
  const write = (chunk: unknown) => {
    text += chunk
    return true
  }
  vi.spyOn(process.stdout, 'write').mockImplementation(write)
  vi.spyOn(process.stderr, 'write').mockImplementation(write)
  return { code: await runContract(args), text }
}

async function withServer(status: number, check: (url: string, requests: () => number) => Promise<void>) {
  let requests = 0
  const server = createServer((_, response) => {
    requests++
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  await check(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => requests)
  server.closeAllConnections()
  server.close()
}

describe('the exit code', () => {
  it('is 3 for bad usage, with the usage', async () => {
    expect(await run(['--nothing'])).toEqual({ code: 3, text: expect.stringContaining('Usage: trainyard contract') })
  })

  it('is 3 where nothing is chosen, with the tags that there are', async () => {
    const { code, text } = await run(['--base-url', 'http://127.0.0.1:9', ...KEY, '--filter', 'no such check'])
    expect({ code, text }).toEqual({ code: 3, text: expect.stringContaining('the tags are health, ') })
  })

  it('is 3 where the expected failures name no check, and nothing is sent', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'contract-')), 'expected')
    await writeFile(file, 'no-such/check\n')
    await withServer(200, async (url, requests) => {
      const { code, text } = await run(['--base-url', url, ...KEY, '--expected-failures', file])
      expect({ code, text, requests: requests() }).toEqual({
        code: 3,
        text: expect.stringContaining('no-such/check'),
        requests: 0,
      })
    })
  })

  it('is 0 for help, which tells about old versions of Node', async () => {
    const { code, text } = await run(['--help'])
    expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining('npx -p node@26 -p ./trainyard.tgz') })
  })

  it.each([[[]], [['cleanup']]])('is 2 where nothing listens: %j', async command => {
    const { code, text } = await run([...command, '--base-url', 'http://127.0.0.1:9', ...KEY])
    expect({ code, text }).toEqual({ code: 2, text: expect.stringContaining('cannot be reached') })
  })

  it('is 2 where the key is refused', async () => {
    await withServer(401, async url => {
      expect(await run(['--base-url', url, ...KEY])).toEqual({ code: 2, text: `${url} refuses the API key\n` })
    })
  })

  it('is 1 where a check fails', async () => {
    await withServer(200, async url => {
      const { code, text } = await run(['--base-url', url, ...KEY, '--filter', 'getSystemCheck/finds'])
      expect({ code, text }).toEqual({ code: 1, text: expect.stringContaining('1 fail') })
    })
  })
})

describe('what is told without sending anything', () => {
  it('are the checks', async () => {
    await withServer(200, async (url, requests) => {
      const { code, text } = await run(['--base-url', url, ...KEY, '--list', '--tag', 'Health', '--filter', 'sane'])
      expect({ code, text }).toEqual({ code: 0, text: 'MUST    health  getHealth/repeats-a-sane-request-id\n' })
      expect(requests()).toBe(0)
    })
  })

  it('are the checks that would run, what they send and what is skipped', async () => {
    await withServer(200, async (url, requests) => {
      const args = ['--base-url', url, ...KEY, '--dry-run', '--no-training', '--filter']
      const { text } = await run([...args, 'getHealth/makes', '--filter', 'end-to-end', '--filter', 'sRlTrain'])
      expect(text).toMatch(/^MUST {4}2 requests {10}getHealth\/makes-a-new-request-id-each-time {2}\[spec\/.+:\d+\]/)
      expect(text).toMatch(/1 check, about 2 requests/)
      const skipped = await run([...args, 'createRlTrainingJob/takes-rollouts-as-they-are'])
      expect(skipped.text).toContain('1 skipped: training was switched off (--no-training)')
      const writing = await run([...args, 'createScorer/keeps-every-key', '--read-only'])
      expect(writing.text).toContain('1 skipped: nothing may be written (--read-only)')
      expect(requests()).toBe(0)
    })
  })
})
