import { afterEach, describe, expect, test } from 'vitest'
import { claimDeliveries } from '../../src/storage/delivery-queue.ts'
import { startTestServer, type TestServer, until } from '../server/start.ts'
import {
  createWebhook,
  ended,
  findExecution,
  fire,
  listDeliveries,
  putSecret,
  startHookServer,
  WEBHOOKS,
} from './hook-server.ts'
import { type Answer, type Receiver, startReceiver } from './receiver.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(...[options]: Parameters<typeof startHookServer>): Promise<TestServer> {
  const server = await startHookServer(options)
  closers.push(() => server.close())
  return server
}

async function receiver(answer?: Answer): Promise<Receiver> {
  const one = await startReceiver(answer)
  closers.push(() => one.close())
  return one
}

const answering = (...statuses: number[]): Answer => {
  let count = 0
  return (_received, response) => response.writeHead(statuses[count++] ?? statuses.at(-1)!).end()
}
const hanging: Answer = () => {}

describe('a delivery', () => {
  test('is sent with its variables, and finishes with its execution', async () => {
    const { url, received } = await receiver((_received, response) =>
      response.writeHead(202, { 'x-answer': 'yes' }).end('taken'),
    )
    const server = await start()
    const id = await createWebhook(server, url)
    const variables = { alias: 'best"}', artifact_version: { id: 1 } }
    const payload = { text: 'new: $alias!', version: '$artifact_version', plain: 1 }
    const { deliveryId, executionId } = await fire(server.service, id, payload, variables)
    const [delivery] = await ended(server, id)
    const body = { text: 'new: best"}!', version: { id: 1 }, plain: 1 }
    expect(received.map(({ json }) => json)).toEqual([body])
    expect(delivery).toEqual({
      id: deliveryId,
      webhook_id: id,
      automation_id: expect.any(String),
      execution_id: executionId,
      event_type: 'ADD_ARTIFACT_ALIAS',
      status: 'Finished',
      body,
      error: null,
      attempts: [
        {
          number: 1,
          created_at: expect.any(String),
          duration_ms: expect.any(Number),
          response_status: 202,
          response_headers: expect.objectContaining({ 'x-answer': 'yes' }),
          response_body: 'taken',
          error: null,
        },
      ],
      next_attempt_at: null,
      created_at: expect.any(String),
      finished_at: expect.any(String),
    })
    const execution = await findExecution(server.service, executionId)
    expect(execution).toMatchObject({ status: 'Finished', error: null, finished_at: expect.any(String) })
  })

  test('is sent whole where it is large', async () => {
    const { url, received } = await receiver()
    const server = await start()
    const id = await createWebhook(server, url)
    const payload = { text: 'x'.repeat(60_000), value: '$alias' }
    await fire(server.service, id, payload, { alias: 'y'.repeat(100_000) })
    await ended(server, id)
    expect(received.map(({ json }) => json)).toEqual([{ ...payload, value: 'y'.repeat(100_000) }])
  })

  test('is tried again until the endpoint takes it, each time the same', async () => {
    const { url, received } = await receiver(answering(500, 302, 200))
    const server = await start()
    const id = await createWebhook(server, url)
    await fire(server.service, id)
    const [delivery] = await ended(server, id)
    expect(delivery).toMatchObject({ status: 'Finished', error: null })
    expect(delivery.attempts.map((one: { number: number; response_status: number }) => one.response_status)).toEqual([
      500, 302, 200,
    ])
    expect(new Set(received.map(({ body }) => body.toString())).size).toBe(1)
  })

  test('has failed after the last attempt of the schedule', async () => {
    const { url, received } = await receiver(answering(500))
    const server = await start({ schedule: [0, 0] })
    const id = await createWebhook(server, url)
    const { executionId } = await fire(server.service, id)
    const [delivery] = await ended(server, id)
    expect(delivery).toMatchObject({ status: 'Failed', error: 'The endpoint answered 500', next_attempt_at: null })
    expect(received).toHaveLength(2)
    const execution = await findExecution(server.service, executionId)
    expect(execution).toMatchObject({ status: 'Failed', error: 'The endpoint answered 500' })
  })

  test('has failed at once where the endpoint answers 410', async () => {
    const { url, received } = await receiver(answering(410))
    const server = await start()
    const id = await createWebhook(server, url)
    await fire(server.service, id)
    expect(await ended(server, id)).toMatchObject([{ status: 'Failed', error: 'The endpoint answered 410' }])
    expect(received).toHaveLength(1)
    expect((await server.call(`${WEBHOOKS}/${id}`)).body.enabled).toBe(true)
  })

  const waits: [string, number, string | undefined, number, number][] = [
    ['as long as the schedule says, and up to a fifth longer', 100_000, undefined, 100_000, 120_000],
    ['as long as Retry-After says, where that is longer', 1000, '600', 600_000, 600_000],
    ['as long as the schedule says, where Retry-After is shorter', 100_000, '1', 100_000, 120_000],
  ]
  test.each(waits)('waits %s', async (_name, wait, retryAfter, least, most) => {
    const { url } = await receiver((_received, response) =>
      response.writeHead(503, retryAfter === undefined ? {} : { 'retry-after': retryAfter }).end(),
    )
    const server = await start({ schedule: [0, wait] })
    const id = await createWebhook(server, url)
    const before = Date.now()
    const { executionId } = await fire(server.service, id)
    const [delivery] = await until(
      () => listDeliveries(server, id),
      found => found[0].attempts.length === 1,
    )
    const next = Date.parse(delivery.next_attempt_at)
    expect(next - before).toBeGreaterThanOrEqual(least)
    expect(next - Date.now()).toBeLessThanOrEqual(most)
    expect(delivery).toMatchObject({ status: 'Pending', finished_at: null, error: 'The endpoint answered 503' })
    expect(await findExecution(server.service, executionId)).toMatchObject({ status: 'Pending', finished_at: null })
  })

  test('waits before its first attempt too, where the schedule says so', async () => {
    const { url, received } = await receiver()
    const server = await start({ schedule: [60_000] })
    const id = await createWebhook(server, url)
    const { deliveryId } = await fire(server.service, id)
    const { id: other } = (await server.call(`${WEBHOOKS}/${await createWebhook(server, url)}`)).body
    const { deliveryId: overdue } = await fire(server.service, other)
    await server.service.database
      .updateTable('webhook_deliveries')
      .set({ next_attempt_at: Date.now() - 61_000 })
      .where('id', '=', overdue)
      .execute()
    await ended(server, other)
    expect(received).toHaveLength(1)
    expect(await listDeliveries(server, id)).toMatchObject([{ id: deliveryId, status: 'Pending', attempts: [] }])
  })

  test('of a secret that is gone fails, says so, and is tried again', async () => {
    const { url, received } = await receiver()
    const server = await start({ schedule: [0, 0, 60_000] })
    await putSecret(server, 'TOKEN', 'the-token')
    const id = await createWebhook(server, url, { access_token_secret: 'TOKEN' })
    await server.service.database.deleteFrom('secrets').execute()
    await fire(server.service, id)
    const [delivery] = await until(
      () => listDeliveries(server, id),
      found => found[0].attempts.length === 2,
    )
    expect(delivery).toMatchObject({ status: 'Pending', error: 'The secret TOKEN does not exist any more' })
    expect(received).toEqual([])
    await putSecret(server, 'TOKEN', 'another-token')
    await server.call(`${WEBHOOKS}/${id}/deliveries/${delivery.id}/redeliver`, { method: 'POST' })
    expect(await ended(server, id)).toMatchObject([{ status: 'Finished', attempts: [{}, {}, { number: 3 }] }])
    expect(received[0]!.headers.authorization).toBe('Bearer another-token')
  })

  test('to an address that is not public fails and reaches nothing', async () => {
    const { port, received } = await receiver()
    const server = await start({
      environment: { WEBHOOK_ALLOW: '' },
      parts: { lookup: async () => [{ address: '127.0.0.1', family: 4 }] },
    })
    const id = await createWebhook(server, `http://inside.test:${port}/`)
    await fire(server.service, id)
    const error = 'inside.test does not have a public address'
    expect(await ended(server, id)).toMatchObject([{ status: 'Failed', error }])
    expect(received).toEqual([])
  })
})

describe('redeliverWebhook', () => {
  test('sends an ended delivery again, under its id, in a new round', async () => {
    const { url, received } = await receiver(answering(500, 500, 200))
    const server = await start({ schedule: [0, 0], environment: { WEBHOOK_STANDARD_HEADERS: '1' } })
    const id = await createWebhook(server, url)
    const { deliveryId, executionId } = await fire(server.service, id)
    await ended(server, id)
    const again = await server.call(`${WEBHOOKS}/${id}/deliveries/${deliveryId}/redeliver`, { method: 'POST' })
    expect(again.body).toMatchObject({ id: deliveryId, status: 'Pending', error: null, finished_at: null })
    const [delivery] = await ended(server, id)
    expect(delivery).toMatchObject({ status: 'Finished', attempts: [{ number: 1 }, { number: 2 }, { number: 3 }] })
    expect(received.map(({ headers }) => headers['webhook-id'])).toEqual([deliveryId, deliveryId, deliveryId])
    expect(await findExecution(server.service, executionId)).toMatchObject({ status: 'Finished', error: null })
  })

  test('sends a waiting delivery now', async () => {
    const { url } = await receiver(answering(500, 200))
    const server = await start({ schedule: [0, 3_600_000] })
    const id = await createWebhook(server, url)
    const { deliveryId } = await fire(server.service, id)
    await until(
      () => listDeliveries(server, id),
      found => found[0].attempts.length === 1,
    )
    await server.call(`${WEBHOOKS}/${id}/deliveries/${deliveryId}/redeliver`, { method: 'POST' })
    expect(await ended(server, id)).toMatchObject([{ status: 'Finished' }])
  })

  test('leaves a delivery that is being sent as it is', async () => {
    const { url, received } = await receiver((_received, response) => {
      setTimeout(() => response.end(), 300)
    })
    const server = await start()
    const id = await createWebhook(server, url)
    const { deliveryId } = await fire(server.service, id)
    await until(
      () => received.length,
      count => count === 1,
    )
    await server.call(`${WEBHOOKS}/${id}/deliveries/${deliveryId}/redeliver`, { method: 'POST' })
    expect(await ended(server, id)).toMatchObject([{ status: 'Finished', attempts: [{ number: 1 }] }])
    expect(received).toHaveLength(1)
  })
})

describe('a webhook', () => {
  const DAY_MS = 24 * 3_600_000
  const failSince = ({ service }: TestServer, ms: number) =>
    service.database
      .updateTable('webhooks')
      .set({ failing_since: new Date(Date.now() - ms).toISOString() })
      .execute()

  test('that fails for five days is disabled and says so, and what comes due fails until it is enabled', async () => {
    const { url, received } = await receiver(answering(500, 200))
    const server = await start({ schedule: [0] })
    const id = await createWebhook(server, url)
    await failSince(server, 5 * DAY_MS)
    await fire(server.service, id)
    await ended(server, id)
    const disabled = (await server.call(`${WEBHOOKS}/${id}`)).body
    const reason = 'The endpoint failed for 5 days without a success in between'
    expect(disabled).toMatchObject({ enabled: false, disabled_at: expect.any(String), disabled_reason: reason })
    const { deliveryId, executionId } = await fire(server.service, id)
    const [, refused] = await ended(server, id)
    expect(refused).toMatchObject({ status: 'Failed', error: `The webhook is disabled: ${reason}`, attempts: [] })
    expect(await findExecution(server.service, executionId)).toMatchObject({ status: 'Failed', error: refused.error })
    expect(received).toHaveLength(1)
    const redeliver = `${WEBHOOKS}/${id}/deliveries/${deliveryId}/redeliver`
    expect((await server.call(redeliver, { method: 'POST' })).status).toBe(400)

    const enabled = await server.call(`${WEBHOOKS}/${id}`, { method: 'PATCH', json: { enabled: true } })
    expect(enabled.body).toMatchObject({ enabled: true, disabled_at: null, disabled_reason: null })
    expect((await server.call(redeliver, { method: 'POST' })).status).toBe(200)
    expect((await ended(server, id))[1]).toMatchObject({ status: 'Finished' })
  })

  test('that fails for less than five days is not disabled, and a success makes them begin anew', async () => {
    const { url } = await receiver(answering(500, 200, 500))
    const server = await start({ schedule: [0] })
    const id = await createWebhook(server, url)
    await failSince(server, 5 * DAY_MS - 60_000)
    for (const status of ['Failed', 'Finished']) {
      const { deliveryId } = await fire(server.service, id)
      expect((await ended(server, id)).find(one => one.id === deliveryId)).toMatchObject({ status })
      expect((await server.call(`${WEBHOOKS}/${id}`)).body.enabled).toBe(true)
    }
    const { failing_since } = await server.service.database.selectFrom('webhooks').selectAll().executeTakeFirstOrThrow()
    expect(failing_since).toBeNull()
  })

  test('of a team whose plan has none is not called', async () => {
    const { url, received } = await receiver()
    const server = await start()
    const id = await createWebhook(server, url)
    await server.service.database.updateTable('teams').set({ plan: 'free' }).execute()
    const { executionId } = await fire(server.service, id)
    await until(
      () => findExecution(server.service, executionId),
      ({ status }) => status === 'Failed',
    )
    expect(received).toEqual([])
    for (const path of [WEBHOOKS, `${WEBHOOKS}/${id}`, `${WEBHOOKS}/${id}/deliveries`]) {
      expect(await server.call(path)).toMatchObject({ status: 403, body: { error: { code: 'plan_too_low' } } })
    }
  })

  test('that hangs delays no other', async () => {
    const slow = await receiver(hanging)
    const fast = await receiver()
    const server = await start({ environment: { WEBHOOK_CONCURRENCY: '8', WEBHOOK_TIMEOUT_MS: '60000' } })
    const hung = await createWebhook(server, slow.url)
    const quick = await createWebhook(server, fast.url)
    for (let count = 0; count < 50; count++) await fire(server.service, hung)
    await until(
      () => slow.received.length,
      count => count >= 2,
    )
    for (let count = 0; count < 50; count++) await fire(server.service, quick)
    await ended(server, quick)
    expect(fast.received).toHaveLength(50)
    // A quarter of the places, and no more.
    expect(slow.received).toHaveLength(2)
  })

  test('that begins to fail gives back what was claimed for it', async () => {
    const { url, received } = await receiver(hanging)
    const server = await start({
      schedule: [0, 60_000],
      environment: { WEBHOOK_CONCURRENCY: '8', WEBHOOK_TIMEOUT_MS: '500' },
    })
    const id = await createWebhook(server, url)
    for (let count = 0; count < 10; count++) await fire(server.service, id)
    const claims = () =>
      server.service.database
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('lease_owner', 'is not', null)
        .execute()
    await until(
      () => received.length,
      count => count >= 3,
    )
    await until(claims, claimed => claimed.length <= 2)
    expect(received.length).toBeLessThanOrEqual(5)
  })

  test('that fails has one place of all, and webhooks that fail have half of them together', async () => {
    const slow = await receiver(hanging)
    const fast = await receiver()
    const server = await start({
      runJobs: false,
      environment: { WEBHOOK_CONCURRENCY: '4', WEBHOOK_TIMEOUT_MS: '60000' },
    })
    for (let count = 0; count < 6; count++) {
      const hung = await createWebhook(server, slow.url)
      for (let more = 0; more < 3; more++) await fire(server.service, hung)
    }
    await failSince(server, 1000)
    const quick = await createWebhook(server, fast.url)
    for (let count = 0; count < 10; count++) await fire(server.service, quick)
    server.service.deliveries.start()
    await ended(server, quick)
    expect(slow.received).toHaveLength(2)
  })
})

describe('a server', () => {
  test('that stops lets what is under way finish, and gives the rest back', async () => {
    let held: (() => void) | null = null
    const { url, received } = await receiver(({ json }, response) => {
      const { text } = json as { text: string }
      if (text === 'soon') held = () => response.end()
    })
    const server = await startHookServer({ environment: { SHUTDOWN_GRACE_MS: '1500' } })
    const id = await createWebhook(server, url)
    await fire(server.service, id, { text: 'soon' })
    await fire(server.service, id, { text: 'never' })
    await until(
      () => received.length,
      count => count === 2,
    )
    const closed = server.close(true)
    held!()
    await closed
    const next = await startHookServer({ dataDir: server.dataDir, runJobs: false })
    closers.push(() => next.close())
    const rows = await next.service.database.selectFrom('webhook_deliveries').selectAll().orderBy('id').execute()
    expect(rows).toMatchObject([
      { status: 'Finished', attempts: 1 },
      { status: 'Pending', attempts: 0, round_attempts: 0, lease_owner: null, lease_until: null },
    ])
  })

  test('sends again what another claimed and never ended', async () => {
    const { url, received } = await receiver()
    const server = await start({ runJobs: false })
    const id = await createWebhook(server, url)
    const { deliveryId } = await fire(server.service, id)
    const dead = { owner: 'dead', leaseMs: 300 }
    const [claimed] = await claimDeliveries(server.service.database, id, dead, { limit: 1, firstWaitMs: 0 })
    expect(claimed).toMatchObject({ id: deliveryId, attempts: 1 })
    expect(await claimDeliveries(server.service.database, id, dead, { limit: 1, firstWaitMs: 0 })).toEqual([])
    server.service.deliveries.start()
    expect(await ended(server, id)).toMatchObject([{ status: 'Finished', attempts: [{ number: 2 }] }])
    expect(received).toHaveLength(1)
  })

  test('keeps its claim on what takes longer than a lease', async () => {
    const { url, received } = await receiver((_received, response) => {
      setTimeout(() => response.end(), 6500)
    })
    const server = await start()
    const id = await createWebhook(server, url)
    await fire(server.service, id)
    await until(
      () => received.length,
      count => count === 1,
    )
    const other = { owner: 'other', leaseMs: 1000 }
    const claims: unknown[] = []
    for (let count = 0; count < 25; count++) {
      claims.push(...(await claimDeliveries(server.service.database, id, other, { limit: 1, firstWaitMs: 0 })))
      await new Promise(resolve => setTimeout(resolve, 250))
    }
    expect(claims).toEqual([])
    expect(await ended(server, id)).toMatchObject([{ status: 'Finished', attempts: [{ number: 1 }] }])
    expect(received).toHaveLength(1)
  })

  test('writes nothing of a delivery that another has by now', async () => {
    const { url, received } = await receiver((_received, response) => {
      setTimeout(() => response.end(), 200)
    })
    const server = await start()
    const id = await createWebhook(server, url)
    await fire(server.service, id)
    await until(
      () => received.length,
      count => count === 1,
    )
    await server.service.database
      .updateTable('webhook_deliveries')
      .set({ lease_owner: 'other', lease_until: Date.now() + 60_000 })
      .execute()
    await new Promise(resolve => setTimeout(resolve, 500))
    expect(await listDeliveries(server, id)).toMatchObject([{ status: 'Pending', attempts: [] }])
  })

  test('tells of its worker in the system check and the metrics', async () => {
    const { url } = await receiver(answering(500, 200))
    const server = await start()
    const id = await createWebhook(server, url)
    await fire(server.service, id)
    await ended(server, id)
    const { text } = await server.call('/metrics')
    expect(text).toContain('trainyard_webhook_attempts_total{outcome="retried"} 1')
    expect(text).toContain('trainyard_webhook_attempts_total{outcome="delivered"} 1')
    expect(text).toContain('trainyard_webhook_deliveries_pending 0')
    await server.service.deliveries.stop()
    const check = await server.call('/v1/system-check')
    expect(check).toMatchObject({
      status: 503,
      body: { job_worker: { errors: ['The delivery worker is not running'] } },
    })
  })

  test('does not start with a range of addresses that is none', async () => {
    const starting = startTestServer({ environment: { WEBHOOK_ALLOW: 'home' } })
    await expect(starting).rejects.toThrow('WEBHOOK_ALLOW must be address ranges such as 10.0.0.0/8, not "home"')
  })
})
