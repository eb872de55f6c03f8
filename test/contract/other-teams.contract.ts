/** What belongs to a team that the caller is not in: naming the team is a 403, naming a thing of it elsewhere a 404. And who made what. */
import { expect } from 'vitest'
import { check, checkEach, SkipError, section } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { operationById, operations } from '../../src/spec/document.ts'
import { goodRequest } from './good-requests.ts'
import { asMember, asSecond, whoIs } from './second-member.ts'
import { client, createArtifact, home, project, runId, secretName } from './setup.ts'
import { createAutomation, createWebhook, ENDPOINT, toAutomation, toProject, webhookAt } from './team-things.ts'

const ERRORS = '/info/description#Errors'
/** Checks of their own ask for these. */
const ASKED_ELSEWHERE: readonly string[] = [
  'getArtifactVersion',
  'listRegistryLinks',
  'createRegistryLink',
  'putMember',
  'listMembers',
  'deleteSecret',
  'listSecrets',
]
/** Those that name a team in their query or their body; chats name one in a header. */
const NAMING: readonly string[] = ['listAutomations', 'createAutomation', 'createApiKey']
const ATTRIBUTED: readonly string[] = ['createChatCompletion', 'createChatCompletionSlash', 'listInferenceModels']

section('Another team, of which a mock knows nothing', { needs: ['memory', 'second-key'], source: ERRORS }, () => {
  const namesTeam = operations.filter(
    ({ operationId, path }) =>
      (path.includes('{entity}') && !ASKED_ELSEWHERE.includes(operationId)) ||
      [...NAMING, ...ATTRIBUTED].includes(operationId),
  )
  for (const { operationId } of namesTeam) {
    const id = operationId as OperationId
    check(`${id}/refuses-another-team`, { home: true }, async () => {
      const headers: Record<string, string> = ATTRIBUTED.includes(id)
        ? { 'vendor-project': `${home.entity}/${project}` }
        : {}
      // Where the plan of the team has no automations, the good request does not name it.
      const named = id === 'listAutomations' ? { query: { entity: home.entity } } : {}
      await client.refused(id, 403, { ...goodRequest(id), ...named, headers, as: asSecond() })
    })
  }

  /** Sent by the second key in a team of its own, which may lack the plan, and its user the role. */
  async function expectNotFound(id: OperationId, options: CallOptions): Promise<void> {
    const { status, text, body } = await client.call(id, { ...options, as: asSecond() })
    const { error } = (body ?? {}) as { error?: { code?: unknown } }
    const mayBeRefused = error?.code === 'plan_too_low' || operationById(id).needs.includes('admin')
    if (status === 403 && mayBeRefused) throw new SkipError(`the second key may not use ${id} in its own team`)
    expect(status, text).toBe(404)
  }

  checkEach<[OperationId, object?]>([
    ['getWebhook'],
    ['updateWebhook', { name: `${runId} taken over` }],
    ['deleteWebhook'],
    ['testWebhook', {}],
    ['listWebhookDeliveries'],
  ])(
    '%s/does-not-find-a-webhook-of-another-team',
    () => ({}),
    async (id, body) => {
      const webhook = await createWebhook(`looked for by ${id}`)
      const { team } = await whoIs({ as: asSecond() })
      const path = { entity: team, webhook_id: webhook.id }
      await expectNotFound(id, { path, ...(body ? { body } : {}) })
      expect(await client.ok('getWebhook', webhookAt(webhook))).toEqual(webhook)
    },
  )

  check('createAutomation/does-not-find-a-webhook-of-another-team', async () => {
    const webhook = await createWebhook('wanted by another team')
    const { team } = await whoIs({ as: asSecond() })
    await expectNotFound('createAutomation', { body: toAutomation(webhook, toProject(runId, team)) })
  })

  check('createWebhook/does-not-take-a-secret-of-another-team', async () => {
    const { team } = await whoIs({ as: asSecond() })
    const name = secretName('of_another_team')
    const secret = { path: { entity: team, name }, body: { value: 'a value' }, as: asSecond() }
    if ((await client.call('putSecret', secret)).status === 403)
      throw new SkipError('the second key is not of an admin of its team')
    for (const field of ['signing_secret', 'access_token_secret']) {
      const body = { name: `${runId} with ${field}`, endpoint_url: ENDPOINT, [field]: name }
      const { error } = await client.refused('createWebhook', 400, { path: { entity: home.entity }, body })
      expect(error.param).toBe(field)
    }
  })
})

section('Who made it, which a mock makes up', { needs: ['memory'] }, () => {
  const createdBy = (schema: string) => ({ source: `/components/schemas/${schema}/properties/created_by/description` })

  check('createWebhook/tells-who-created-it', createdBy('Webhook'), async () => {
    const { user } = await whoIs()
    const webhook = await createWebhook('made by somebody')
    expect(webhook.created_by).toBe(user)
    expect((await client.ok('getWebhook', webhookAt(webhook))).created_by).toBe(user)
  })

  check('createAutomation/tells-who-created-it', createdBy('Automation'), async () => {
    const { user } = await whoIs()
    const automation = await createAutomation(await createWebhook('of one made by somebody'), toProject(project))
    expect(automation.created_by).toBe(user)
  })

  const linking = { ...createdBy('RegistryLink'), needs: ['second-key'], alone: true } as const
  check('createRegistryLink/tells-who-linked-it', linking, async () => {
    const { user } = await whoIs()
    const upload = { files: { a: 'linked by two' }, version: { type: 'dataset' } }
    const { uri } = await createArtifact('linked-by-two', upload)
    const at = (collection: string) => ({
      path: { entity: home.entity, registry: `${runId}-made`, collection },
      body: { artifact: uri },
    })
    await asMember({}, async ({ as, path }) => {
      expect((await client.ok('createRegistryLink', at('first'))).created_by).toBe(user)
      const link = await client.ok('createRegistryLink', { ...at('second'), as })
      expect(link.created_by).toBe(path.user)
      const { data } = await client.ok('listRegistryLinks', { path: at('second').path })
      expect(data, 'as others read it').toEqual([link])
    })
  })
})
