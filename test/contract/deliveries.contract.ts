// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of payloads are written like that
/** Deliveries as they arrive: the suite is the receiver. */
import { createHmac } from 'node:crypto'
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { signatureOf, validateDeliveryBytes } from '../../src/contract/conform-delivery.ts'
import type { Arrival, EndpointReply } from '../../src/contract/receiver.ts'
import { deliveryOperation } from '../../src/spec/document.ts'
import { arrivalsOf, type Endpoint, openEndpoint, readArrival } from './delivery-endpoints.ts'
import { expectedBody } from './delivery-payload.ts'
import { FIRING, MANY, SILENT, takeScene, VALUE } from './delivery-scene.ts'
import { client, home, project, runId, secretName } from './setup.ts'

const DELIVERY = deliveryOperation.pointer
const WORDS = `${DELIVERY}/description`
const MASK = '********'
/** What is kept of an answer, in bytes. */
const KEPT_BODY = 64 * 1024
/** Between the clocks of two machines, in seconds. */
const CLOCK_SKEW_S = 300

const NEEDS = ['memory', 'receiver', 'team-admin', 'writes'] as const

section('Deliveries, of which a mock makes none', { needs: NEEDS, tag: 'webhooks', shares: 'deliveries' }, () => {
  const OTHERS = ['plain', 'flaky', 'moved', 'broken', 'gone', 'orphan', 'dropped'] as const

  /** The first arrival of each kind, with what it was sent by. */
  async function takeFirsts(): Promise<[Endpoint, Arrival][]> {
    const scene = await takeScene()
    const endpoints = [scene.main, ...OTHERS.map(name => scene[name])]
    return endpoints.flatMap(one => one.inbox.arrivals.map(arrival => [one, arrival] as [Endpoint, Arrival]))
  }

  async function takeOne(rule: string): Promise<Record<string, unknown>> {
    const scene = await takeScene()
    const arrivals = arrivalsOf(scene.main, rule)
    expect(arrivals.length, `deliveries of the automation ${rule}`).toBeGreaterThan(0)
    return readArrival(arrivals[0]!)!
  }

  section(
    'a test, which keeps nothing',
    { source: '/paths/~1v1~1preview~1teams~1{entity}~1webhooks~1{webhook_id}~1test/post/description' },
    () => {
      let endpoint: { of: string; opened: Promise<Endpoint> } | null = null

      /** It answers as the payload says. */
      async function takeTested(): Promise<Endpoint> {
        const { receiver, secrets } = await takeScene()
        const answer = (_: number, arrival: Arrival) =>
          (readArrival(arrival)?.answer ?? { status: 200 }) as EndpointReply
        if (endpoint?.of !== runId) endpoint = { of: runId, opened: openEndpoint(receiver, 'tested', answer, secrets) }
        return endpoint.opened
      }

      async function test(payload: object | null) {
        const tested = await takeTested()
        const before = tested.inbox.arrivals.length
        const body = payload === null ? {} : { payload }
        const result = await client.ok('testWebhook', { path: tested.path, body })
        return { result, tested, arrivals: tested.inbox.arrivals.slice(before) }
      }

      check('testWebhook/sends-the-payload-once-with-the-credentials', async () => {
        const payload = { event: 'TEST', text: 'ünï "\n', items: [1, null, { a: true }] }
        const { arrivals, tested } = await test(payload)
        expect(arrivals.map(readArrival)).toEqual([payload])
        expect(arrivals[0]!.method).toBe('POST')
        expectCredentials(tested, arrivals[0]!)
        expect((await test(null)).arrivals.map(readArrival)).toEqual([expect.any(Object)])
      })

      check('testWebhook/shows-what-came-back', async () => {
        const answer = { status: 201, headers: { 'X-Answer': 'a, b' }, body: 'taken, ünï' }
        const { result } = await test({ answer })
        expect(result).toMatchObject({ status: 201, headers: { 'x-answer': 'a, b' }, body: 'taken, ünï', error: null })
        expect(result.duration_ms).toBeLessThan(60_000)
        const refused = (await test({ answer: { status: 418, body: 'no' } })).result
        expect(refused).toMatchObject({ status: 418, body: 'no', error: expect.stringMatching(/./) })
        const silent = (await test({ answer: { status: null } })).result
        expect(silent).toMatchObject({ status: null, headers: null, body: null, error: expect.stringMatching(/./) })
      })

      check(
        'testWebhook/shows-the-first-64-KiB-of-an-answer',
        { source: '/components/schemas/WebhookTestResult' },
        async () => {
          const { receiver } = await takeScene()
          const long = await openEndpoint(
            receiver,
            'long',
            () => ({ status: 200, body: 'x'.repeat(KEPT_BODY + 1) }),
            {},
          )
          const { body, status } = await client.ok('testWebhook', { path: long.path, body: {} })
          expect({ status, characters: body?.length }).toEqual({ status: 200, characters: KEPT_BODY })
        },
      )

      check(
        'testWebhook/joins-headers-of-one-name',
        { source: '/components/schemas/WebhookTestResult/properties/headers/description' },
        async () => {
          const { result } = await test({ answer: { status: 200, headers: { 'X-Part': ['a', 'b'] } } })
          expect(result.headers?.['x-part']).toMatch(/^a, ?b$/)
        },
      )

      check(
        'testWebhook/uses-the-new-value-of-a-secret-at-once',
        { source: '/paths/~1v1~1preview~1teams~1{entity}~1secrets~1{name}/put/description' },
        async () => {
          const { receiver } = await takeScene()
          const token = { name: secretName('replaced_token'), value: 'the-first-value' }
          const path = { entity: home.entity, name: token.name }
          await client.ok('putSecret', { path, body: { value: token.value } })
          const endpoint = await openEndpoint(receiver, 'replaced', undefined, { token })
          const sent = async () => {
            await client.ok('testWebhook', { path: endpoint.path, body: {} })
            return endpoint.inbox.arrivals.at(-1)?.headers.authorization
          }
          expect(await sent()).toBe(`Bearer ${token.value}`)
          await client.ok('putSecret', { path, body: { value: 'the-second-value' } })
          expect(await sent()).toBe('Bearer the-second-value')
        },
      )

      check('testWebhook/follows-no-redirect', async () => {
        const { receiver } = await takeScene()
        const other = receiver.open()
        for (const status of [301, 302, 307, 308]) {
          const { result, arrivals } = await test({ answer: { status, headers: { location: other.url } } })
          expect(result).toMatchObject({ status, error: expect.stringMatching(/./) })
          expect(arrivals).toHaveLength(1)
        }
        expect(other.arrivals).toEqual([])
      })

      check('testWebhook/substitutes-variables-and-masks-secrets', async () => {
        const { secrets } = await takeScene()
        const { token, signing } = secrets
        const echo = { status: 400, headers: { 'x-token': '$ACCESS_TOKEN' }, body: `<$ACCESS_TOKEN> $${signing.name}` }
        const { result, arrivals } = await test({ type: '${event_type}', entity: '$entity_name', answer: echo })
        const sent = readArrival(arrivals[0]!)
        expect(sent).toMatchObject({ entity: home.entity, answer: { body: `<${token.value}> ${signing.value}` } })
        expect(sent!.type).toMatch(/^[A-Z_]+$/)
        expect(result.headers).toMatchObject({ 'x-token': MASK })
        expect(result.body).toBe(`<${MASK}> ${MASK}`)
      })

      check('testWebhook/keeps-nothing', async () => {
        const { tested } = await test({})
        expect((await client.ok('listWebhookDeliveries', { path: tested.path })).data).toEqual([])
        for (const payload of [{ a: '$nothing' }, { a: `$${secretName('nothing')}` }, { a: '${alias' }])
          await client.refused('testWebhook', 422, { path: tested.path, body: { payload } })
        expect((await client.ok('deleteWebhook', { path: (await takeTested()).path })).deleted_deliveries).toBe(0)
        endpoint = null
      })
    },
  )

  section('as they arrive', { source: WORDS }, () => {
    check('automationDelivery/keeps-to-the-contract', { source: `${DELIVERY}/requestBody` }, async () => {
      for (const [{ webhook }, { headers, body, method }] of await takeFirsts()) {
        expect(method).toBe('POST')
        expect(validateDeliveryBytes(headers, body), webhook.name).toEqual([])
      }
    })

    check(
      'automationDelivery/carries-the-credentials-and-the-signature',
      { source: `${WORDS}#Signature` },
      async () => {
        const firsts = await takeFirsts()
        expect(firsts.length).toBeGreaterThan(FIRING.length)
        for (const [endpoint, arrival] of firsts) expectCredentials(endpoint, arrival)
      },
    )

    checkEach(FIRING.map(rule => [rule] as const))('automationDelivery/fires-for-%s', async rule => {
      const { main, automations } = await takeScene()
      const ofRule = arrivalsOf(main, rule)
      const path = { automation_id: automations.get(rule)!.id }
      const { data } = await client.ok('listAutomationExecutions', { path })
      expect(data, 'one event fires once').toHaveLength(1)
      const log = (await client.ok('listWebhookDeliveries', { path: main.path, query: { limit: 100 } })).data
      const kept = log.find(({ execution_id }) => execution_id === data[0]!.id)
      expect(kept?.attempts.length, 'arrivals are the attempts that the log shows').toBe(ofRule.length)
      expect(ofRule.length).toBeGreaterThan(0)
    })

    checkEach(SILENT.map(rule => [rule] as const))('automationDelivery/does-not-fire-for-%s', async rule => {
      const { main, automations } = await takeScene()
      expect(arrivalsOf(main, rule)).toEqual([])
      if (rule === 'deleted') return
      const path = { automation_id: automations.get(rule)!.id }
      expect((await client.ok('listAutomationExecutions', { path })).data).toEqual([])
    })

    check(
      'automationDelivery/substitutes-every-variable-once-and-breaks-no-json',
      { source: `${WORDS}#Payload` },
      async () => {
        const { secrets, alias, version, main } = await takeScene()
        const { rule, version: sent, ...body } = await takeOne('alias')
        const names = {
          ...{ project, entity: home.entity, event: 'ADD_ARTIFACT_ALIAS', author: main.webhook.created_by },
          ...{ alias, collection: version.name, version: `${home.entity}/${project}/${version.name}:${alias}` },
        }
        expect(body).toEqual(expectedBody({ alias, secrets, names }))
        const { size_bytes, files, aliases, tags, ...object } = version
        expect(sent).toEqual({ ...object, aliases: expect.arrayContaining([alias]), tags: [`${runId}-seen`] })
      },
    )

    check('automationDelivery/tells-of-links-tags-and-aliases-in-a-registry', async () => {
      const { alias, version, registry, collection } = await takeScene()
      const named = (name: string) => `${home.entity}/${project}/${version.name}:${name}`
      const common = { entity: home.entity, project, collection, alias: '', tag: '', version: named('v0') }
      expect(await takeOne('link')).toEqual({ ...common, rule: 'link', event: 'LINK_ARTIFACT', project: registry })
      const tagged = { rule: 'tag', event: 'ADD_ARTIFACT_TAG', tag: `${runId}-seen` }
      expect(await takeOne('tag')).toEqual({ ...common, ...tagged })
      const aliased = { rule: 'registry-alias', event: 'ADD_ARTIFACT_ALIAS', alias, version: named(alias) }
      expect(await takeOne('registry-alias')).toEqual({ ...common, ...aliased })
    })

    check('automationDelivery/tells-of-a-metric', async () => {
      const { model, metric } = await takeScene()
      const run = { run_id: model.run_id, run_name: model.name, metric: `val/${metric}`, value: VALUE }
      const nothing = { alias: '', version: '' }
      expect(await takeOne('metric')).toEqual({ rule: 'metric', ...run, text: `at ${VALUE}`, ...nothing })
    })

    check('automationDelivery/fires-for-each-event', async () => {
      const { main, automations } = await takeScene()
      expect(arrivalsOf(main, 'many').length).toBeGreaterThanOrEqual(MANY)
      const path = { automation_id: automations.get('many')!.id }
      const { data } = await client.ok('listAutomationExecutions', { path })
      const aliases = data.map(({ event }) => event.alias)
      expect(aliases).toEqual(Array.from({ length: MANY }, (_, number) => `${runId}-many-${number}`))
      expect(new Set(data.map(({ delivery_id }) => delivery_id)).size).toBe(MANY)
    })
  })

  function expectCredentials({ token, signing, webhook }: Endpoint, { headers, body }: Arrival): void {
    expect(headers.authorization, webhook.name).toBe(token ? `Bearer ${token.value}` : undefined)
    const signature = signing ? createHmac('sha256', signing.value).update(body).digest('hex') : undefined
    expect(signatureOf(headers), webhook.name).toBe(signature)
    expectStandard(headers, body, signing?.value ?? null)
  }

  /** The headers of Standard Webhooks, where a deployment sends them. */
  function expectStandard(headers: Arrival['headers'], body: Buffer, secret: string | null): void {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers
    if (id === undefined && timestamp === undefined && signature === undefined) return
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(CLOCK_SKEW_S)
    const key = secret?.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret
    const text = key && createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
    expect(signature).toBe(text === null ? undefined : `v1,${text}`)
  }
})
