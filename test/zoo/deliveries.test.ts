/** That faults of webhook calls reach a receiver as they say, so that what a suite does not find is not for want of a fault. */
import { createHmac } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import type { Fault } from './fault.ts'
import { startFaultProxy } from './fault-proxy.ts'
import { webhookFaults } from './first-zoo-webhooks.ts'

const SECRET = 'the-shared-secret-0123456789'
const TOKEN = 'the-access-token-0123456789'
/** A value with quotes and a backslash, as a template must survive it. */
const PAYLOAD = { text: 'say "yes" or \\no\\ now', type: '$' + '{event_type}', version: '$' + '{artifact_version}' }

interface Call {
  method: string
  headers: http.IncomingHttpHeaders
  body: string
}

let service: InProcess
let receiver: http.Server
let calls: Call[] = []
let answer = { status: 200, headers: {} as Record<string, string> }

beforeAll(async () => {
  service = await startInProcess()
  receiver = http.createServer((request, response) => {
    let body = ''
    request.on('data', piece => {
      body += piece
    })
    request.on('end', () => {
      calls.push({ method: request.method ?? '', headers: request.headers, body })
      response.writeHead(calls.length === 1 ? answer.status : 200, answer.headers)
      response.end('taken')
    })
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
})

afterAll(async () => {
  receiver.closeAllConnections()
  receiver.close()
  await service.close()
})

/** What the receiver gets, and what the service shows, when a webhook is tested through a proxy with the fault. */
async function testWebhook(fault: Fault | null) {
  calls = []
  const proxy = await startFaultProxy(service.target, fault)
  const team = `${proxy.target.baseUrl}/v1/preview/teams/default`
  const send = async (method: string, path: string, body?: unknown) => {
    const headers = { authorization: `Bearer ${proxy.target.apiKey}`, 'content-type': 'application/json' }
    const reply = await fetch(team + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    return (await reply.json()) as Record<string, unknown>
  }
  try {
    await send('PUT', '/secrets/ZOO_SIGNING', { value: SECRET })
    await send('PUT', '/secrets/ZOO_TOKEN', { value: TOKEN })
    const endpoint_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
    const body = { name: 'zoo', endpoint_url, access_token_secret: 'ZOO_TOKEN', signing_secret: 'ZOO_SIGNING' }
    const webhook = await send('POST', '/webhooks', body)
    const shown = await send('POST', `/webhooks/${webhook.id}/test`, { payload: PAYLOAD })
    await send('DELETE', `/webhooks/${webhook.id}`)
    return { webhook, shown, call: calls[0], count: calls.length }
  } finally {
    await proxy.close()
  }
}

function find(name: string): Fault {
  return webhookFaults.find(fault => fault.name === name)!
}

function sign(body: string): string {
  return createHmac('sha256', SECRET).update(body).digest('hex')
}

test('without a fault a call comes as the service sent it', async () => {
  const { webhook, shown, call, count } = await testWebhook(null)
  expect(webhook.endpoint_url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/hook$/)
  expect(shown).toMatchObject({ status: 200, body: 'taken', error: null })
  expect(count).toBe(1)
  expect(call!.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-vendor-signature': sign(call!.body) })
  expect(JSON.parse(call!.body)).toMatchObject({ text: PAYLOAD.text })
})

test.each<[string, (call: Call) => unknown, unknown]>([
  ['hmac-wrong', call => call.headers['x-vendor-signature'] === sign(call.body), false],
  ['hmac-missing', call => call.headers['x-vendor-signature'], undefined],
  ['hmac-base64', call => String(call.headers['x-vendor-signature']).length, 44],
  ['hmac-upper-case', call => call.headers['x-vendor-signature'] === sign(call.body).toUpperCase(), true],
  ['hmac-prefix', call => call.headers['x-vendor-signature'] === `sha256=${sign(call.body)}`, true],
  ['hmac-of-other-bytes', call => call.headers['x-vendor-signature'] === sign(call.body), false],
  ['hook-bearer', call => call.headers.authorization, undefined],
  ['hook-bearer-scheme', call => call.headers.authorization, TOKEN],
  ['hook-content-type', call => call.headers['content-type'], 'text/plain'],
  ['hook-put', call => call.method, 'PUT'],
  ['hook-wrapped', call => Object.keys(JSON.parse(call.body)), ['payload']],
  ['hook-version-as-text', call => typeof JSON.parse(call.body).version, 'string'],
  ['hook-backslash-lost', call => JSON.parse(call.body).text, 'say "yes" or  no  now'],
  ['hook-quotes-break-the-body', call => call.body.includes('\\"'), false],
])('%s is seen by the receiver', async (name, look, expected) => {
  const { call } = await testWebhook(find(name))
  expect(look(call!)).toEqual(expected)
  // What changes the body is signed again, so that the change is all there is to find.
  if (name.startsWith('hook-') && call!.headers['x-vendor-signature'])
    expect(call!.headers['x-vendor-signature']).toBe(sign(call!.body))
})

test('a call that never comes looks like a success to the service', async () => {
  const { shown, count } = await testWebhook(find('hook-never'))
  expect([shown.status, count]).toEqual([200, 0])
})

test('a redirect is followed', async () => {
  const port = (receiver.address() as AddressInfo).port
  answer = { status: 307, headers: { location: `http://127.0.0.1:${port}/elsewhere` } }
  expect(await testWebhook(null)).toMatchObject({ shown: { status: 307 }, count: 1 })
  expect(await testWebhook(find('hook-redirect-followed'))).toMatchObject({ shown: { status: 200 }, count: 2 })
  answer = { status: 200, headers: {} }
})
