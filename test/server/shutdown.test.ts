import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { startServer } from '../../src/serve.ts'
import { noOpTraining } from '../no-op-engine.ts'
import { createGatedInference } from './gated-engine.ts'
import { createDataDir, FIRST_KEY, startTestServer, toSettings, until } from './start.ts'

const CHAT = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] })
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const post = (url: string, body = CHAT) =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${FIRST_KEY}`, 'content-type': 'application/json' },
  })

describe('a server that shuts down', () => {
  test('lets the requests that run finish, streams too', async () => {
    const dataDir = await createDataDir()
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    const { engine, generations } = createGatedInference()
    const server = await startServer(toSettings(dataDir), { inference: engine, training: noOpTraining })
    const whole = post(server.url)
    const stream = await post(server.url, CHAT.replace('{', '{"stream":true,'))
    await until(
      () => generations.length,
      count => count === 2,
    )
    const closed = server.close()
    for (const { push, end } of generations) {
      push({ type: 'delta', index: 0, text: 'late', tokens: [] })
      push({ type: 'finish', index: 0, reason: 'stop', stopTokenId: null })
      end()
    }
    expect(await (await whole).json()).toMatchObject({ choices: [{ message: { content: 'late' } }] })
    expect(await stream.text()).toMatch(/late.*data: \[DONE\]\n\n$/s)
    await closed
    await expect(post(server.url)).rejects.toThrow()
  })

  test('cuts off what runs beyond the grace time', async () => {
    const dataDir = await createDataDir()
    closers.push(() => rm(dataDir, { recursive: true, force: true }))
    const { engine, generations } = createGatedInference()
    const settings = toSettings(dataDir, { SHUTDOWN_GRACE_MS: '200' })
    const server = await startServer(settings, { inference: engine, training: noOpTraining })
    const whole = post(server.url).catch(() => 'cut off')
    await until(
      () => generations.length,
      count => count === 1,
    )
    await server.close()
    expect(await whole).toBe('cut off')
    await until(() => generations[0]!.signal.aborted, Boolean)
  })
})

test('a new request on a connection that was kept is a 503 with Retry-After', async () => {
  const server = await startTestServer()
  closers.push(() => server.close())
  const socket = connect(server.port, '127.0.0.1')
  closers.push(() => socket.destroy())
  const ask = async () => {
    socket.write('GET /v1/health HTTP/1.1\r\nhost: x\r\n\r\n')
    return String((await once(socket, 'data'))[0])
  }
  expect(await ask()).toContain('HTTP/1.1 200')
  server.drain()
  const answer = await ask()
  expect(answer).toContain('HTTP/1.1 503')
  expect(answer.toLowerCase()).toContain('retry-after: 2')
  expect((await server.call('/v1/nothing')).status).toBe(503)
})

/** `trainyard serve` as a process of its own, when it listens. */
async function startProcess(
  environment: Record<string, string>,
): Promise<{ child: ChildProcess; url: string; output(): string }> {
  const dataDir = await createDataDir()
  closers.push(() => rm(dataDir, { recursive: true, force: true }))
  const cli = join(import.meta.dirname, '../../src/cli.ts')
  const child = spawn(process.execPath, [cli, 'serve'], {
    env: { ...process.env, PORT: '0', DATA_DIR: dataDir, API_KEY: FIRST_KEY, ...environment },
  })
  closers.push(() => child.kill('SIGKILL'))
  let output = ''
  const add = (data: Buffer) => (output += data)
  child.stderr.on('data', add)
  child.stdout.on('data', add)
  const url = await until(
    () => /http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? null,
    found => found !== null || child.exitCode !== null,
  )
  return { child, url: url ?? '', output: () => output }
}

test.each(['SIGTERM', 'SIGINT'] as const)('the process ends with 0 at %s', async signal => {
  const { child, url, output } = await startProcess({})
  expect((await fetch(`${url}/v1/health`)).status).toBe(200)
  child.kill(signal)
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(output()).toContain('Shutting down')
  expect(output()).not.toContain(FIRST_KEY)
  expect(output()).not.toContain('Warning')
})

test('a setting that cannot be read ends the process with one line that names it', async () => {
  const { child, output } = await startProcess({ PORT: 'eighty' })
  if (child.exitCode === null) await once(child, 'exit')
  expect(child.exitCode).toBe(1)
  expect(output()).toBe('PORT must be a whole number, not "eighty"\n')
})
