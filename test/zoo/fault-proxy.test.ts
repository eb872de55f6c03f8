import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { NOTHING_GIVEN, type Target } from '../../src/contract/target.ts'
import { eventText } from './change-streams.ts'
import { createDeliveryRoute } from './delivery-route.ts'
import type { Fault, ZooContext } from './fault.ts'
import { startFaultProxy } from './fault-proxy.ts'

const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function listen(handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  closers.push(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function open(handler: http.RequestListener, fault: Partial<Fault> | null) {
  const baseUrl = await listen(handler)
  const target: Target = {
    baseUrl,
    inferenceUrl: `${baseUrl}/v1`,
    apiKey: 'first',
    secondApiKey: 'second',
    basic: 'api:first',
    baseModel: 'tiny-chat',
    isMock: false,
    jobTimeoutMs: 1000,
    profile: 'full',
    project: null,
    isReadOnly: false,
    given: NOTHING_GIVEN,
    mayTrain: true,
    mayRetry: true,
    receiver: null,
  }
  const proxy = await startFaultProxy(target, fault && { name: 'one', rule: 'any', breaks: 'something', ...fault })
  closers.push(() => proxy.close())
  return proxy
}

const echo: http.RequestListener = (request, response) => {
  const pieces: Buffer[] = []
  request.on('data', piece => pieces.push(piece))
  request.on('end', () => {
    response.setHeader('content-type', 'application/json')
    response.setHeader('x-path', request.url ?? '')
    response.statusCode = request.method === 'DELETE' ? 404 : 200
    response.end(Buffer.concat(pieces))
  })
}

/** Three events, each when it is let. */
function openStream(): { handler: http.RequestListener; next(): void } {
  const waiting: (() => void)[] = []
  let free = 0
  return {
    next: () => (waiting.length > 0 ? waiting.shift()!() : void free++),
    handler: async (_, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.flushHeaders()
      for (const index of [0, 1, 2]) {
        if (free > 0) free--
        else await new Promise<void>(resolve => waiting.push(resolve))
        response.write(`data: {"index":${index}}\n\n`)
      }
      response.end()
    },
  }
}

test('without a fault everything passes as it is', async () => {
  const proxy = await open(echo, null)
  const reply = await fetch(`${proxy.target.baseUrl}/v1/a%2Fb?x=%20`, { method: 'POST', body: 'text' })
  expect([reply.status, reply.headers.get('x-path'), await reply.text()]).toEqual([200, '/v1/a%2Fb?x=%20', 'text'])
  expect((await fetch(proxy.target.inferenceUrl, { method: 'DELETE' })).status).toBe(404)
  expect(proxy.changes()).toBe(0)
})

test('requests and replies are changed, and nothing while it pauses', async () => {
  const proxy = await open(echo, {
    onRequest: request => ({ ...request, body: Buffer.from(`${request.body}!`) }),
    onReply: (reply, request, { keys }) => ({
      status: 299,
      headers: { ...reply.headers, 'x-key': keys.second },
      body: Buffer.from(`${reply.body}${request.body}`),
    }),
  })
  const send = () => fetch(proxy.target.baseUrl, { method: 'POST', body: 'a' })
  const reply = await send()
  expect([reply.status, reply.headers.get('x-key'), await reply.text()]).toEqual([299, 'second', 'a!a'])
  expect(proxy.changes()).toBe(2)
  proxy.pause()
  expect(await (await send()).text()).toBe('a')
  proxy.resume()
  expect((await send()).status).toBe(299)
})

test('a fault answers by itself, and asks the healthy service by itself', async () => {
  const proxy = await open(echo, {
    onRequest: async (request, { send }) => {
      if (request.method === 'GET') return { status: 418, headers: {}, body: Buffer.from('own') }
      return send({ ...request, body: Buffer.from('sent') })
    },
  })
  expect((await fetch(proxy.target.baseUrl)).status).toBe(418)
  expect(await (await fetch(proxy.target.baseUrl, { method: 'POST', body: 'a' })).text()).toBe('sent')
})

test.each([
  ['nobody looks at it', {}],
  ['only its head is looked at', { onReply: reply => ({ ...reply, status: 201 }) }],
  ['its events are changed', eventText(event => event.replace('index', 'place'))],
] as [string, Partial<Fault>][])('a stream passes piece by piece where %s', async (_, fault) => {
  const { handler, next } = openStream()
  const proxy = await open(handler, fault)
  const reply = await fetch(proxy.target.baseUrl)
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader()
  for (const index of [0, 1, 2]) {
    next()
    const name = fault.onEvents ? 'place' : 'index'
    expect((await reader.read()).value).toBe(`data: {"${name}":${index}}\n\n`)
  }
  expect((await reader.read()).done).toBe(true)
  expect(reply.status).toBe(fault.onReply ? 201 : 200)
})

test('a hook that throws cuts the connection', async () => {
  const { handler, next } = openStream()
  for (let count = 0; count < 3; count++) next()
  const proxy = await open(handler, {
    // biome-ignore lint/correctness/useYield: it breaks off before
    async *onEvents() {
      throw new Error('cut')
    },
  })
  await expect(fetch(proxy.target.baseUrl).then(reply => reply.text())).rejects.toThrow()
})

test('the service is told when the client goes away', async () => {
  let isClosed = false
  const proxy = await open(
    (_, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write('data: 1\n\n')
      response.on('close', () => {
        isClosed = true
      })
    },
    eventText(event => event),
  )
  const leave = new AbortController()
  await (await fetch(proxy.target.baseUrl, { signal: leave.signal })).body!.getReader().read()
  leave.abort()
  await expect.poll(() => isClosed).toBe(true)
})

const context: ZooContext = {
  operationId: '',
  path: {},
  keys: { first: '', second: '' },
  memory: new Map(),
  send: () => Promise.reject(new Error('unused')),
}

function toRequest(path: string, body: unknown) {
  return { method: 'POST', path, headers: { 'x-signature': 'abc' }, body: Buffer.from(JSON.stringify(body)) }
}

function openRoute(fault: Partial<Fault>) {
  const route = createDeliveryRoute(() => ({ name: 'one', rule: '', breaks: '', ...fault }))
  route.standsAt('http://127.0.0.1:1')
  return route
}

test('webhook calls take the way through the proxy, and nobody sees it', async () => {
  const seen: string[] = []
  const receiver = await listen((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers['x-signature']}`)
    response.statusCode = 202
    response.end()
  })
  const endpoint_url = `${receiver}/hook?a=1`
  const route = openRoute({ onDelivery: call => [call, call], onReceipt: receipt => ({ ...receipt, status: 500 }) })
  const sent = route.redirect(toRequest('/v1/webhooks', { name: 'a', endpoint_url }), 'createWebhook')
  const { endpoint_url: own } = JSON.parse(sent.body.toString()) as { endpoint_url: string }
  expect(own).toBe('http://127.0.0.1:1/zoo-delivery/0/hook?a=1')
  const restore = route.restorer({ headers: { 'content-type': 'application/json' } })!
  expect(restore({ status: 200, headers: {}, body: sent.body }).body.toString()).toContain(`"${endpoint_url}"`)
  const call = toRequest(own.slice('http://127.0.0.1:1'.length), {})
  expect(route.isFor(call)).toBe(true)
  expect((await route.deliver(call, context)).status).toBe(500)
  expect(seen).toEqual(['POST /hook?a=1 abc', 'POST /hook?a=1 abc'])
})

test.each(['https://hooks.example.com/', 'not a url', 7, 'http://user@127.0.0.1/', 'http://127.0.0.1'])(
  'an endpoint URL of another kind, %s, stays',
  url => {
    const request = toRequest('/v1/webhooks', { endpoint_url: url })
    expect(openRoute({}).redirect(request, 'createWebhook')).toBe(request)
  },
)
