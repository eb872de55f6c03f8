/** What becomes of deliveries: attempts, the log of a webhook, the history of an automation, sending again and deleting. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { comesTrue } from '../../src/contract/receiver.ts'
import { deliveryOperation } from '../../src/spec/document.ts'
import { arrivalsOf, type Endpoint } from './delivery-endpoints.ts'
import { MANY, RETRY_AFTER_S, takeScene } from './delivery-scene.ts'
import { checkPages } from './pages.ts'
import { client, runId, unknownId } from './setup.ts'

const WORDS = `${deliveryOperation.pointer}/description`
const NEEDS = ['memory', 'receiver', 'team-admin', 'writes'] as const
/** Longest wait for what is sent again, in milliseconds. */
const AGAIN_MS = 5000

section(
  'The log of deliveries, of which a mock has none',
  { needs: NEEDS, tag: 'webhooks', shares: 'deliveries' },
  () => {
    const listOf = async ({ path }: Endpoint, query: Record<string, string | number> = {}) =>
      (await client.ok('listWebhookDeliveries', { path, query: { limit: 100, ...query } })).data
    const executionsOf = async (rule: string) => {
      const { automations } = await takeScene()
      const path = { automation_id: automations.get(rule)!.id }
      return (await client.ok('listAutomationExecutions', { path })).data
    }

    section('after a failure', { source: `${WORDS}#Retries`, needs: ['retries'] }, () => {
      for (const name of ['flaky', 'moved', 'broken'] as const)
        check(`automationDelivery/comes-again-the-same-to-an-endpoint-that-is-${name}`, async () => {
          const scene = await takeScene()
          const [first, second, ...more] = scene[name].inbox.arrivals
          expect(second?.body.toString('utf8'), 'the same body again').toBe(first!.body.toString('utf8'))
          expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id'])
          expect(more, 'nothing more when it was taken').toEqual([])
          const log = await listOf(scene[name])
          expect(
            log.map(({ status, attempts }) => ({ status, numbers: attempts.map(({ number }) => number) })),
          ).toEqual([{ status: 'Finished', numbers: [1, 2] }])
          const id = first!.headers['webhook-id']
          if (id !== undefined) expect(id).toBe(log[0]!.id)
        })

      check('automationDelivery/waits-as-long-as-retry-after-says', async () => {
        const { flaky } = await takeScene()
        const [first, second] = flaky.inbox.arrivals
        expect(second!.at - first!.at).toBeGreaterThanOrEqual(RETRY_AFTER_S * 1000 - 50)
      })

      check('automationDelivery/ends-with-410', async () => {
        const { gone } = await takeScene()
        expect(gone.inbox.arrivals).toHaveLength(1)
      })

      check(
        'deleteAutomation/leaves-deliveries-under-way-alone',
        { source: '/paths/~1v1~1preview~1automations~1{automation_id}/delete/description' },
        async () => {
          const { orphan } = await takeScene()
          expect(orphan.inbox.arrivals).toHaveLength(2)
          expect(await listOf(orphan)).toMatchObject([{ automation_id: null, execution_id: null, status: 'Finished' }])
        },
      )

      check(
        'deleteWebhook/ends-what-was-waiting',
        { source: '/paths/~1v1~1preview~1teams~1{entity}~1webhooks~1{webhook_id}/delete/description' },
        async () => {
          const { dropped } = await takeScene()
          expect(dropped.inbox.arrivals).toHaveLength(1)
        },
      )
    })

    check('automationDelivery/follows-no-redirect', { source: `${WORDS}#Retries` }, async () => {
      const { elsewhere, moved } = await takeScene()
      expect(elsewhere.arrivals).toEqual([])
      expect((await listOf(moved))[0]!.attempts[0]).toMatchObject({
        response_status: 302,
        error: expect.stringMatching(/./),
      })
    })

    check('listWebhookDeliveries/shows-what-waits-for-its-next-attempt', async () => {
      const { waiting, flaky } = await takeScene()
      expect(waiting).toMatchObject([{ status: 'Pending', finished_at: null, webhook_id: flaky.webhook.id }])
      const { attempts, next_attempt_at } = waiting[0]!
      expect(attempts).toMatchObject([{ number: 1, response_status: 503, error: expect.stringMatching(/./) }])
      expect(Date.parse(next_attempt_at!)).toBeGreaterThan(Date.parse(attempts[0]!.created_at))
    })

    check('listWebhookDeliveries/tells-what-was-sent-and-what-came-back', async () => {
      const { main, automations, version } = await takeScene()
      const { id } = automations.get('link')!
      const kept = (await listOf(main)).find(({ automation_id }) => automation_id === id)
      expect(kept).toMatchObject({
        ...{ webhook_id: main.webhook.id, event_type: 'LINK_ARTIFACT', status: 'Finished', error: null },
        ...{ next_attempt_at: null, body: { rule: 'link', event: 'LINK_ARTIFACT' } },
      })
      expect(kept!.attempts).toMatchObject([{ number: 1, response_status: 200, response_body: 'taken', error: null }])
      const times = [version.created_at, kept!.created_at, kept!.attempts[0]!.created_at, kept!.finished_at!]
      expect(times.toSorted((a, b) => Date.parse(a) - Date.parse(b))).toEqual(times)
      const arrived = arrivalsOf(main, 'link')[0]!.headers['webhook-id']
      if (arrived !== undefined) expect(arrived).toBe(kept!.id)
    })

    check('listWebhookDeliveries/never-shows-a-secret', async () => {
      const { main, flaky, secrets, automations } = await takeScene()
      for (const endpoint of [main, flaky]) {
        const { text } = await client.call('listWebhookDeliveries', { path: endpoint.path, query: { limit: 100 } })
        for (const { value } of [secrets.token, secrets.signing])
          for (const form of [value, JSON.stringify(value).slice(1, -1), Buffer.from(value).toString('base64')])
            expect(text.includes(form), 'the log holds a secret').toBe(false)
      }
      const { id } = automations.get('alias')!
      const kept = (await listOf(main)).find(({ automation_id }) => automation_id === id)
      expect(kept!.body.secrets).toEqual(['********', '********', '******** and ********!'])
      expect((await listOf(flaky))[0]!.attempts[0]!.response_body).toBe('no, ********')
    })

    check('listWebhookDeliveries/narrows-by-status', async () => {
      const { main, gone } = await takeScene()
      const ids = async (endpoint: Endpoint, query = {}) => (await listOf(endpoint, query)).map(({ id }) => id)
      expect(await ids(main, { status: 'Finished' })).toEqual(await ids(main))
      expect(await ids(gone, { status: 'Failed' })).toEqual(await ids(gone))
      expect(await ids(gone)).toHaveLength(1)
      for (const [endpoint, status] of [
        [main, 'Failed'],
        [main, 'Pending'],
        [gone, 'Finished'],
        [gone, 'Pending'],
      ] as const)
        expect(await ids(endpoint, { status }), status).toEqual([])
    })

    check('listWebhookDeliveries/follows-the-laws-of-pages', async () => {
      const { main } = await takeScene()
      await checkPages('listWebhookDeliveries', { path: main.path }, (await listOf(main)).length)
    })

    check('listAutomationExecutions/tells-how-each-ended', async () => {
      const { version, alias, main, gone, metric, model, automations } = await takeScene()
      const artifact = `${version.entity}/${version.project}/${version.name}:v0`
      const nothing = {
        registry: null,
        tag: null,
        run_id: null,
        run_name: null,
        metric: null,
        value: null,
        threshold: null,
      }
      const event = {
        ...{ type: 'ADD_ARTIFACT_ALIAS', author: main.webhook.created_by, entity: version.entity, artifact, alias },
        ...{ project: version.project, collection: version.name, step: null, ...nothing },
      }
      const [finished] = await executionsOf('alias')
      const taken = { status: 'Finished', event, response_status: 200, error: null }
      expect(finished).toMatchObject({ ...taken, automation_id: automations.get('alias')!.id })
      expect((await listOf(main)).map(({ id }) => id)).toContain(finished!.delivery_id)
      expect(Date.parse(finished!.finished_at!)).toBeGreaterThanOrEqual(Date.parse(finished!.created_at))
      const failed = { status: 'Failed', event, response_status: 410, error: expect.stringMatching(/./) }
      expect(await executionsOf('gone')).toMatchObject([{ ...failed, delivery_id: (await listOf(gone))[0]!.id }])
      const measured = (await executionsOf('metric'))[0]!.event
      const run = {
        run_id: model.run_id,
        run_name: model.name,
        metric: `val/${metric}`,
        value: 3,
        threshold: 3,
        step: 0,
      }
      expect(measured).toMatchObject({ type: 'RUN_METRIC', ...run, artifact: null, alias: null })
    })

    check('listAutomationExecutions/tells-of-a-disabled-webhook', async () => {
      const { disabled } = await takeScene()
      const [execution] = await executionsOf('disabled')
      expect(execution).toMatchObject({ status: 'Failed', response_status: null, error: expect.stringMatching(/./) })
      expect(execution!.finished_at).not.toBeNull()
      expect(disabled.inbox.arrivals).toEqual([])
    })

    check('listAutomationExecutions/follows-the-laws-of-pages', async () => {
      const { automations } = await takeScene()
      await checkPages('listAutomationExecutions', { path: { automation_id: automations.get('many')!.id } }, MANY)
    })

    check('redeliverWebhook/sends-the-same-again', async () => {
      const { main } = await takeScene()
      const first = arrivalsOf(main, 'link')[0]!
      const [execution] = await executionsOf('link')
      const delivery_id = execution!.delivery_id!
      const path = { ...main.path, delivery_id }
      const count = arrivalsOf(main, 'link').length
      const again = await client.ok('redeliverWebhook', { path })
      expect(again).toMatchObject({
        id: delivery_id,
        status: 'Pending',
        finished_at: null,
        execution_id: execution!.id,
      })
      expect(again.next_attempt_at).not.toBeNull()
      expect(await comesTrue(() => arrivalsOf(main, 'link').length > count, AGAIN_MS), 'it arrives again').toBe(true)
      const { body, headers } = arrivalsOf(main, 'link').at(-1)!
      expect(body.equals(first.body), 'the same bytes').toBe(true)
      expect(headers['webhook-id']).toBe(first.headers['webhook-id'])
      const find = async () => (await listOf(main)).find(one => one.id === delivery_id)!
      await comesTrue(async () => (await find()).status === 'Finished', AGAIN_MS)
      const numbers = (await find()).attempts.map(({ number }) => number)
      expect(numbers).toEqual(Array.from({ length: count + 1 }, (_, index) => index + 1))
      expect(await executionsOf('link'), 'it is no new execution').toHaveLength(1)
    })

    check('redeliverWebhook/refuses-what-is-not-there-or-disabled', async () => {
      const { main, plain } = await takeScene()
      const { id } = (await listOf(plain))[0]!
      for (const path of [
        { ...main.path, delivery_id: unknownId },
        { ...main.path, delivery_id: id },
      ])
        await client.refused('redeliverWebhook', 404, { path })
      await client.ok('updateWebhook', { path: plain.path, body: { enabled: false } })
      await client.refused('redeliverWebhook', 400, { path: { ...plain.path, delivery_id: id } })
      expect(plain.inbox.arrivals).toHaveLength(1)
    })

    check('deleteWebhook/refuses-one-that-an-automation-calls', async () => {
      const { gone, automations } = await takeScene()
      await client.refused('deleteWebhook', 400, { path: gone.path })
      expect((await client.ok('getWebhook', { path: gone.path })).name).toBe(`${runId} delivery gone`)
      await client.ok('deleteAutomation', { path: { automation_id: automations.get('gone')!.id } })
      const deleted = { webhook_id: gone.webhook.id, deleted_deliveries: 1 }
      expect(await client.ok('deleteWebhook', { path: gone.path })).toEqual(deleted)
      await client.refused('listWebhookDeliveries', 404, { path: gone.path })
    })
  },
)
