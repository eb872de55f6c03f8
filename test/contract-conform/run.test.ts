import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { readArguments, runContract } from '../../src/contract/run.ts'

const KEY = ['--api-key', 'a-key']

describe('the arguments', () => {
  it('have defaults that follow from the address and the key', () => {
    expect(readArguments(['--base-url', 'http://host:8080/prefix/', ...KEY])!.target).toEqual({
      baseUrl: 'http://host:8080/prefix',
      inferenceUrl: 'http://host:8080/prefix/v1',
      apiKey: 'a-key',
      secondApiKey: null,
      basic: 'api:a-key',
      baseModel: 'tiny-chat',
      isMock: false,
      jobTimeoutMs: 600_000,
    })
  })

  it.each([
    [['--api-key', 'k'], '--base-url is missing'],
    [['--base-url', 'http://h'], '--api-key is missing'],
    [['--base-url', 'ftp://h', ...KEY], '--base-url must be an http address'],
    [['--base-url', 'h', ...KEY], '--base-url must be an http address'],
    [['--base-url', 'http://h', ...KEY, '--fliter', 'x'], '--fliter'],
    [['--base-url', 'http://h', ...KEY, 'more'], 'more'],
    [['--base-url', 'http://h', ...KEY, '--basic', 'x'], '--basic must be user:password'],
    [['--base-url', 'http://h', ...KEY, '--job-timeout', 'soon'], '--job-timeout'],
    [['--base-url', 'http://h', ...KEY, '--inference-url', 'http://i'], '--inference-url must end in /v1'],
  ])('%j are refused', (args, message) => {
    vi.stubEnv('API_KEY', undefined)
    expect(() => readArguments(args)).toThrow(message)
  })
})

describe('the exit code', () => {
  afterEach(() => {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
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

  async function withServer(status: number, check: (url: string) => Promise<void>): Promise<void> {
    const server = createServer((_, response) => response.writeHead(status).end('{}')).listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    await check(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    server.close()
  }

  it('is 3 for bad usage, with the usage', async () => {
    expect(await run(['--nothing'])).toEqual({ code: 3, text: expect.stringContaining('Usage: trainyard contract') })
  })

  it('is 0 for help', async () =>
    expect(await run(['--help'])).toEqual({ code: 0, text: expect.stringContaining('Exit code') }))

  it('is 2 where nothing listens', async () => {
    const { code, text } = await run(['--base-url', 'http://127.0.0.1:9', ...KEY])
    expect({ code, text }).toEqual({ code: 2, text: expect.stringContaining('cannot be reached') })
  })

  it('is 2 where the key is refused', async () => {
    await withServer(401, async url => {
      expect(await run(['--base-url', url, ...KEY])).toEqual({ code: 2, text: `${url} refuses the API key\n` })
    })
  })
})
