import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { EndpointGuard } from '../../src/automations/endpoint-guard.ts'
import { Mask } from '../../src/automations/mask.ts'
import { Sender } from '../../src/automations/send.ts'
import { type Answer, type Receiver, startReceiver } from './receiver.ts'

const TIMEOUT_MS = 500
const TOKEN = 'token-0123456789'
const SHARED = 'shared/secret+0123456789=='
const BODY = Buffer.from(JSON.stringify({ text: 'ünïcode "quoted"', n: 1 }))
const ID = '01990c5e-9b21-7e4d-8203-1dae9f807b6c'
const closers: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

function credentials(accessToken: string | null, signingSecret: string | null) {
  const values = [accessToken, signingSecret].filter(value => value !== null)
  return { accessToken, signingSecret, variables: {}, mask: new Mask(values) }
}

function createSender(settings: Partial<ConstructorParameters<typeof Sender>[0]> = {}): Sender {
  const all = { vendor: 'Vendor', webhookTimeoutMs: TIMEOUT_MS, webhookStandardHeaders: false, ...settings }
  const sender = new Sender(all, new EndpointGuard(['127.0.0.0/8']))
  closers.push(() => sender.close())
  return sender
}

const send = (url: string, { sender = createSender(), as = credentials(null, null), body = BODY } = {}) =>
  sender.send({ id: ID, url, body }, as, new AbortController().signal)

async function receiver(answer?: Answer): Promise<Receiver> {
  const one = await startReceiver(answer)
  closers.push(() => one.close())
  return one
}

/** An endpoint that speaks TCP only. */
async function rawEndpoint(listener: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createTcpServer(socket => {
    sockets.add(socket.on('error', () => {}))
    listener(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describe('a request', () => {
  test('has the headers of the contract and no others', async () => {
    const { url, received } = await receiver()
    const sender = createSender()
    await send(`${url}/deep/path?a=1&b=%20`, { sender })
    await send(url, { sender, as: credentials(TOKEN, null) })
    await send(url, { sender, as: credentials(TOKEN, SHARED) })
    const needed = ['host', new URL(url).host, 'connection', 'keep-alive']
    const length = ['content-length', String(BODY.length)]
    const signature = createHmac('sha256', SHARED).update(BODY).digest('hex')
    expect(received.map(({ rawHeaders }) => rawHeaders)).toEqual([
      [...needed, 'Content-Type', 'application/json', ...length],
      [...needed, 'Content-Type', 'application/json', 'Authorization', `Bearer ${TOKEN}`, ...length],
      [
        ...needed,
        ...['Content-Type', 'application/json', 'Authorization', `Bearer ${TOKEN}`],
        ...['X-Vendor-Signature', signature, ...length],
      ],
    ])
    expect(received[0]).toMatchObject({ method: 'POST', path: '/deep/path?a=1&b=%20' })
    for (const { body } of received) expect(body.equals(BODY)).toBe(true)
  })

  test('names the vendor of the deployment in the signature header', async () => {
    const { url, received } = await receiver()
    await send(url, { sender: createSender({ vendor: 'Acme' }), as: credentials(null, SHARED) })
    expect(received[0]!.headers['x-acme-signature']).toMatch(/^[0-9a-f]{64}$/)
    expect(received[0]!.headers['x-vendor-signature']).toBeUndefined()
  })

  test.each([
    ['a plain secret', SHARED, Buffer.from(SHARED)],
    ['a secret in base64', `whsec_${Buffer.from('a key of some bytes').toString('base64')}`, 'a key of some bytes'],
  ])('has the Standard Webhooks headers on demand, with %s', async (_name, secret, key) => {
    const { url, received } = await receiver()
    const sender = createSender({ webhookStandardHeaders: true })
    await send(url, { sender, as: credentials(null, secret) })
    await send(url, { sender })
    const [signed, plain] = received.map(({ headers }) => headers)
    expect(signed!['webhook-id']).toBe(ID)
    const timestamp = signed!['webhook-timestamp'] as string
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(10)
    const expected = createHmac('sha256', key).update(`${ID}.${timestamp}.`).update(BODY).digest('base64')
    expect(signed!['webhook-signature']).toBe(`v1,${expected}`)
    expect(signed!['x-vendor-signature']).toBe(createHmac('sha256', secret).update(BODY).digest('hex'))
    expect(plain!['webhook-id']).toBe(ID)
    expect(plain!['webhook-signature']).toBeUndefined()
  })

  test('goes straight to the endpoint, whatever proxies the environment names', async () => {
    const proxy = await receiver()
    const { url, received } = await receiver()
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) {
      process.env[name] = proxy.url
      closers.push(() => void delete process.env[name])
    }
    expect((await send(url)).error).toBeNull()
    expect([received.length, proxy.received.length]).toEqual([1, 0])
  })

  test('with a token that no header can hold is not made', async () => {
    const { url, received } = await receiver()
    for (const token of ['line\nbreak: x', 'snow☃man']) {
      const attempt = await send(url, { as: credentials(token, null) })
      expect(attempt).toMatchObject({ status: null, error: expect.stringContaining('uthorization') })
      expect(attempt.error).not.toContain(token)
    }
    expect(received).toEqual([])
  })
})

describe('an answer', () => {
  const statusCases: [number, string | null][] = [
    [200, null],
    [204, null],
    [299, null],
    [301, 'The endpoint answered 301, and redirects are not followed'],
    [307, 'The endpoint answered 307, and redirects are not followed'],
    [404, 'The endpoint answered 404'],
    [500, 'The endpoint answered 500'],
  ]
  test.each(statusCases)('of %i has the error %s, and is not followed anywhere', async (status, error) => {
    const elsewhere = await receiver()
    const { url, received } = await receiver((_received, response) => {
      response.writeHead(status, { location: elsewhere.url, 'set-cookie': ['a=1', 'b=2'] }).end('body')
    })
    const attempt = await send(url)
    expect(attempt).toMatchObject({ status, error, isGone: false, retryAfterMs: 0 })
    expect(attempt.headers).toMatchObject({ location: elsewhere.url, 'set-cookie': 'a=1, b=2' })
    expect(attempt.body).toBe(status === 204 ? '' : 'body')
    expect([received.length, elsewhere.received.length]).toEqual([1, 0])
  })

  test('after an early hint is the one that counts', async () => {
    const { url } = await receiver((_received, response) => {
      response.writeEarlyHints({ link: '</a>; rel=preload' })
      response.writeHead(503).end()
    })
    expect((await send(url)).status).toBe(503)
  })

  test('that is only announced is none', async () => {
    const { url } = await receiver((_received, response) => response.writeEarlyHints({ link: '</a>; rel=preload' }))
    expect(await send(url)).toMatchObject({ status: null, error: 'No answer came within 0.5 s' })
  })

  test('without an end is read to 64 KiB, its status counts, and the connection is closed', async () => {
    const closed = Promise.withResolvers<number>()
    const { url } = await receiver((_received, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x')
      let written = 0
      const more = () => {
        do written += chunk.length
        while (!response.destroyed && response.write(chunk))
      }
      response.writeHead(200, { 'content-length': String(3 * 1024 ** 3) })
      response.on('drain', more).on('close', () => closed.resolve(written))
      more()
    })
    const attempt = await send(url, { sender: createSender({ webhookTimeoutMs: 20_000 }) })
    expect(attempt).toMatchObject({ status: 200, error: null })
    expect(attempt.body).toHaveLength(64 * 1024)
    expect(attempt.durationMs).toBeLessThan(20_000)
    // What was on its way: buffers of the system, not of ours.
    expect(await closed.promise).toBeLessThan(32 * 1024 ** 2)
  })

  test('whose body only drips counts by its status, at the end of the time', async () => {
    const { url } = await receiver((_received, response) => {
      response.writeHead(200).write('a')
      const timer = setInterval(() => response.write('a'), 20)
      response.on('close', () => clearInterval(timer))
    })
    const attempt = await send(url)
    expect(attempt).toMatchObject({ status: 200, error: null, body: expect.stringMatching(/^a{2,}$/) })
    expect(attempt.durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS - 1)
  })

  test('whose body ends early counts by its status', async () => {
    const url = await rawEndpoint(socket =>
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf')),
    )
    expect(await send(url)).toMatchObject({ status: 200, error: null, body: 'half' })
  })

  const noAnswers: [string, (socket: Socket) => void, RegExp][] = [
    ['never comes', () => {}, /^No answer came within 0\.5 s$/],
    [
      'whose head only drips',
      socket => {
        socket.write('HTTP/1.1 200 OK\r\n')
        const timer = setInterval(() => socket.write('x: y\r\n'), 20)
        socket.on('close', () => clearInterval(timer))
      },
      /^No answer came within 0\.5 s$/,
    ],
    ['is cut off before it', socket => void socket.on('data', () => socket.destroy()), /closed the connection/],
    [
      'is half a head',
      socket => void socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nx')),
      /closed|Parse|HPE|Inv/,
    ],
    ['is no HTTP', socket => void socket.on('data', () => socket.end('220 smtp ready\r\n')), /./],
    [
      'has a head without an end',
      socket => void socket.write(`HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(1000)}\r\n`.repeat(100)}`),
      /headers of the answer are too large/,
    ],
  ]
  test.each(noAnswers)('that %s is a failure', async (_name, listener, error) => {
    const attempt = await send(await rawEndpoint(listener))
    expect(attempt).toMatchObject({ status: null, headers: null, body: null, error: expect.stringMatching(error) })
  })

  test('of 410 wants no more', async () => {
    const { url } = await receiver((_received, response) => response.writeHead(410).end())
    expect(await send(url)).toMatchObject({ status: 410, isGone: true })
  })

  const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString()
  const waits: [string, () => string, number][] = [
    ['seconds', () => '120', 120_000],
    ['a date', inAnHour, 3_600_000],
    ['a date gone by', () => new Date(0).toUTCString(), 0],
    ['more than a day', () => '999999', 24 * 3_600_000],
    ['a number without an end', () => '9'.repeat(400), 0],
    ['nothing readable', () => 'soon', 0],
    ['a negative number', () => '-5', 0],
  ]
  test.each(waits)('may ask to be left alone: %s', async (_name, value, ms) => {
    const { url } = await receiver((_received, response) => response.writeHead(503, { 'retry-after': value() }).end())
    const { retryAfterMs } = await send(url)
    expect(retryAfterMs).toBeLessThanOrEqual(ms)
    expect(retryAfterMs).toBeGreaterThanOrEqual(ms - (ms > 0 && ms < 86_400_000 && ms !== 120_000 ? 5000 : 0))
  })
})

test('an endpoint that nobody is at is a failure', async () => {
  const { url, close } = await startReceiver()
  await close()
  expect((await send(url)).error).toBe('The endpoint refused the connection')
})

test('a TLS certificate that nobody vouches for is a failure, whatever the environment says', async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  closers.push(() => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED)
  const server = createHttpsServer({ key: OWN_KEY, cert: OWN_CERTIFICATE }, (_request, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => void server.close())
  const attempt = await send(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(attempt).toMatchObject({ status: null, error: expect.stringMatching(/self.signed certificate/i) })
})

/** Of 127.0.0.1, signed by itself, for these tests only. */
const OWN_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgQjiCjUvkbo9TbyZL
rMYnyr7vEcwKydCDnVrrJyeHgdOhRANCAATMr/sW6Wz1DADEsqJtC0r7bXwB8o9T
OtjQK0m7kUnCztuuRlnc5vB7cq7+Jo2Gv/70CgE+8/b2DegVRR+wCIAE
-----END PRIVATE KEY-----`
const OWN_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUbxOOH8o29M27mO6UcFU/3cK+Q0kwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTE0MjIyM1oYDzIxMjYxMDI4
MTQyMjIzWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATMr/sW6Wz1DADEsqJtC0r7bXwB8o9TOtjQK0m7kUnCztuuRlnc5vB7
cq7+Jo2Gv/70CgE+8/b2DegVRR+wCIAEo2QwYjAdBgNVHQ4EFgQUen5y+mddCfaK
mMHu5Inh2r0CdWQwHwYDVR0jBBgwFoAUen5y+mddCfaKmMHu5Inh2r0CdWQwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQDdrpFEyCsk7rwsbf7GbgqE0jLmZWBgbnp4yz7ANz0SHQIhAK9caEYGI5j2E9mE
rpNyptxrk4lhIf73QDO1sDPOBtyF
-----END CERTIFICATE-----`
