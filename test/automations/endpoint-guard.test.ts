import { afterEach, describe, expect, test } from 'vitest'
import { EndpointGuard, type Lookup } from '../../src/automations/endpoint-guard.ts'
import { Mask } from '../../src/automations/mask.ts'
import { Sender } from '../../src/automations/send.ts'
import { startReceiver } from './receiver.ts'

const NO_CREDENTIALS = { accessToken: null, signingSecret: null, variables: {}, mask: new Mask([]) }
const SETTINGS = { vendor: 'Vendor', webhookTimeoutMs: 2000, webhookStandardHeaders: false }
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function send(url: string, guard: EndpointGuard) {
  const sender = new Sender(SETTINGS, guard)
  closers.push(() => sender.close())
  const body = Buffer.from('{}')
  return sender.send({ id: 'd', url, body }, NO_CREDENTIALS, new AbortController().signal)
}

async function receiver(host?: string) {
  const one = await startReceiver(undefined, host)
  closers.push(() => one.close())
  return one
}

const FORBIDDEN = [
  ...['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', '0', '0.0.0.0', 'localhost', 'api.localhost'],
  ...['[::]', '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
  ...['[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:53aa:64c::]', '[fe80::1]', '[fec0::1]', '[fd00:ec2::254]'],
  ...['[ff02::1]', '[2001:db8::1]', '[::ffff:0:127.0.0.1]', '[100::1]', '[5f00::1]'],
  ...['169.254.169.254', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '100.100.100.200', '192.0.0.192'],
  ...['224.0.0.1', '240.0.0.1', '255.255.255.255', '198.18.0.1', '168.63.129.16', '①②⑦.⓪.⓪.①', '127。0。0。1'],
]

describe('a host that is no public address', () => {
  test.each(FORBIDDEN)('%s is refused as it is written', host => {
    expect(new EndpointGuard([]).isForbidden(new URL(`http://${host}/`))).toBe(true)
  })

  test.each(FORBIDDEN)('%s is refused when a connection is opened, and reaches nothing', async host => {
    const internal = await receiver()
    const lookup: Lookup = async () => [{ address: '127.0.0.1', family: 4 }]
    const attempt = await send(`http://${host}:${internal.port}/`, new EndpointGuard([], lookup))
    expect(attempt.error).toContain('does not have a public address')
    expect(attempt.status).toBeNull()
    expect(internal.received).toEqual([])
  })
})

test.each(['8.8.8.8', '[2606:4700::1111]', 'example.com', 'localhost.example.com'])('%s is not refused', host => {
  expect(new EndpointGuard([]).isForbidden(new URL(`https://${host}/`))).toBe(false)
})

describe('the ranges that a deployment allows', () => {
  test('count in every spelling of an address, and no further', () => {
    const guard = new EndpointGuard(['127.0.0.0/8', 'fd00::/16'])
    for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost', '[fd00::1]'])
      expect(guard.isForbidden(new URL(`http://${host}/`)), host).toBe(false)
    for (const host of ['10.0.0.1', '[::1]', '[fd01::1]', '[64:ff9b::7f00:1]'])
      expect(guard.isForbidden(new URL(`http://${host}/`)), host).toBe(true)
  })

  test.each(['10.0.0.1', 'all', '10.0.0.0/33', ''])('must be ranges: "%s" is refused', range => {
    expect(() => new EndpointGuard([range])).toThrow(/WEBHOOK_ALLOW/)
  })
})

describe('a host name', () => {
  // 127.0.0.2 stands for the public network, 127.0.0.1 for what is inside.
  const allow = ['127.0.0.2/32']

  test('that changes its address after it was looked up never leads inside (DNS rebinding)', async () => {
    const internal = await receiver()
    const outside = await receiver('127.0.0.2')
    let lookups = 0
    const lookup: Lookup = async () => [{ address: lookups++ === 0 ? '127.0.0.2' : '127.0.0.1', family: 4 }]
    const first = await send(`http://rebinding.test:${outside.port}/`, new EndpointGuard(allow, lookup))
    expect(first.error).toBeNull()
    expect(lookups).toBe(1)
    const second = await send(`http://rebinding.test:${internal.port}/`, new EndpointGuard(allow, lookup))
    expect(second.error).toBe('rebinding.test does not have a public address')
    expect([outside.received.length, internal.received.length]).toEqual([1, 0])
  })

  test('with addresses of both kinds leads to the allowed ones only', async () => {
    const internal = await receiver()
    const lookup: Lookup = async () => [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
      { address: '127.0.0.2', family: 4 },
    ]
    const attempt = await send(`http://mixed.test:${internal.port}/`, new EndpointGuard(allow, lookup))
    expect(attempt.error).toBe('The endpoint refused the connection')
    expect(internal.received).toEqual([])
  })

  test('that does not exist, or that nobody can look up, is a failure in words', async () => {
    const failing = (code: string) =>
      new EndpointGuard(allow, async () => Promise.reject(Object.assign(new Error('dns'), { code })))
    expect((await send('http://nowhere.test/', failing('ENOTFOUND'))).error).toBe(
      'The host name nowhere.test does not exist',
    )
    expect((await send('http://nowhere.test/', failing('EAI_AGAIN'))).error).toContain('cannot be looked up')
  })

  test('whose lookup never ends is given up in time', async () => {
    const guard = new EndpointGuard(allow, () => new Promise(() => {}))
    expect((await send('http://slow.test/', guard)).error).toMatch(/in time|within/)
  })
})
