/** What crosses from one team to another, and makers that are not told. */
import { isOf, type Json, replyItems, replyJson, toJsonReply } from './change-replies.ts'
import { jsonOf, requestJson } from './change-requests.ts'
import type { Fault, ZooContext, ZooReply, ZooRequest } from './fault.ts'
import { remembered } from './held-out-zoo-tools.ts'
import { HOME, isBySecond, listOf, seenByOthers, toJson, toSecond, withFirstKey } from './second-key.ts'

/** What is asked of a webhook of another team is answered as if its own team had been named. */
function foundByIdAlone(id: string): Pick<Fault, 'onRequest'> {
  return {
    async onRequest(request, context) {
      const { entity, webhook_id } = context.path
      if (!isOf(id, context) || !isBySecond(request, context) || entity === HOME) return request
      const reply = await context.send(request)
      if (reply.status !== 404 || !webhook_id) return reply
      return withFirstKey({ ...request, path: request.path.replace(`/teams/${entity}/`, `/teams/${HOME}/`) }, context)
    },
  }
}

/** Keys of the second key's user that are bound to the first one's team, as its list has them. */
function keysOfTeam(context: ZooContext): Json[] {
  return listOf<Json>(context, 'keys')
}

function noteKeys(reply: ZooReply, request: ZooRequest, context: ZooContext): void {
  if (!isOf('createApiKey', context) || reply.status !== 200 || !isBySecond(request, context)) return
  const { key: _, ...shown } = toJson(reply)
  if (shown.team === HOME) keysOfTeam(context).push(shown)
}

/** Names of faults, and the operations that are open to every team. */
const OPEN_TO_OTHERS = {
  'artifact-tags': 'addArtifactTag deleteArtifactTag',
  'artifact-aliases': 'addArtifactAlias deleteArtifactAlias',
  'artifact-lists': 'listArtifactVersions',
  'artifact-uploads': 'createArtifactVersion',
  'artifact-deletions': 'deleteArtifactVersion',
  'artifact-files': 'getArtifactFile',
  'webhook-lists': 'listWebhooks',
  'webhook-creation': 'createWebhook',
  webhooks: 'getWebhook updateWebhook deleteWebhook testWebhook',
  deliveries: 'listWebhookDeliveries redeliverWebhook',
  'automation-lists': 'listAutomations',
  'automation-creation': 'createAutomation',
  'scorer-lists': 'listScorers',
  'scorer-creation': 'createScorer',
  scorers: 'getScorer deleteScorer',
  'secret-writing': 'putSecret',
  'member-removal': 'deleteMember',
  'key-making': 'createApiKey',
}

export const otherTeamFaults: Fault[] = [
  ...Object.entries(OPEN_TO_OTHERS).map(([what, ids]) => ({
    name: `${what}-of-other-teams`,
    rule: `${ids}: 403 where the request names a team that the caller is not in`,
    breaks: `${ids.replaceAll(' ', ', ')}: open to every team.`,
    ...seenByOthers(ids),
  })),
  {
    name: 'usage-for-other-teams',
    rule: 'createChatCompletion listInferenceModels: 403 where the request names a team that the caller is not in',
    breaks: 'A chat is counted for whatever team exists that its header names.',
    ...doneForOthers(),
  },
  ...['getWebhook', 'updateWebhook', 'deleteWebhook', 'testWebhook', 'listWebhookDeliveries'].map(id => ({
    name: `webhook-by-id-alone-${id.toLowerCase()}`,
    rule: `${id}: a webhook of the team in the path`,
    breaks: `${id} looks for the id in all teams.`,
    ...foundByIdAlone(id),
  })),
  {
    name: 'automation-calls-webhooks-of-others',
    rule: 'createAutomation: the webhook must belong to the same team',
    breaks: 'An automation may call the webhook of another team.',
    async onRequest(request, context) {
      if (!isOf('createAutomation', context) || !isBySecond(request, context)) return request
      const reply = await context.send(request)
      const body = jsonOf(request)
      if (reply.status !== 404) return reply
      body.scope.entity = HOME
      return withFirstKey({ ...request, body: Buffer.from(JSON.stringify(body)) }, context)
    },
  },
  {
    name: 'webhook-takes-secrets-of-others',
    rule: 'createWebhook: a secret that the team has not is a 400',
    breaks: 'A webhook may name a secret that only another team has.',
    ...requestJson('createWebhook', (body, context) => {
      const known = remembered<Json>(context, 'secrets')
      for (const field of ['signing_secret', 'access_token_secret']) if (known.has(body[field])) body[field] = null
    }),
    onReply(reply, request, context) {
      if (isOf('putSecret', context) && reply.status === 200 && isBySecond(request, context))
        remembered<Json>(context, 'secrets').set(toJson(reply).name, true)
      return reply
    },
  },
  {
    name: 'automations-of-all-teams-listed',
    rule: 'listAutomations: the automations of every team that the caller is in',
    breaks: 'listAutomations without a team gives those of all teams.',
    onRequest: (request, context) =>
      isOf('listAutomations', context) && isBySecond(request, context) && !request.path.includes('entity=')
        ? withFirstKey(request, context)
        : request,
  },
  {
    name: 'automations-of-one-team-listed',
    rule: 'listAutomations: the automations of every team that the caller is in',
    breaks: "listAutomations without a team gives those of the key's team alone.",
    ...toSecond('listAutomations', 200, reply =>
      toJsonReply(200, { ...toJson(reply), data: [], first_id: '', last_id: '', has_more: false }),
    ),
  },
  {
    name: 'keys-of-the-team-listed',
    rule: "listApiKeys: the keys of the caller's user",
    breaks: 'The list of keys has those of others that are bound to the team.',
    onReply(reply, request, context) {
      noteKeys(reply, request, context)
      if (!isOf('listApiKeys', context) || reply.status !== 200 || isBySecond(request, context)) return reply
      const page = toJson(reply)
      if (page.has_more) return reply
      const data = [...page.data, ...keysOfTeam(context)]
      return toJsonReply(200, { ...page, data, first_id: data[0]?.id ?? '', last_id: data.at(-1)?.id ?? '' })
    },
  },
  {
    name: 'keys-of-the-team-deletable',
    rule: 'deleteApiKey: a key of another user is a 404',
    breaks: 'A key that is bound to the team may be revoked by everyone in it.',
    onRequest: (request, context) =>
      isOf('deleteApiKey', context) && keysOfTeam(context).some(({ id }) => id === context.path['api_key_id'])
        ? { ...request, headers: { ...request.headers, authorization: `Bearer ${context.keys.second}` } }
        : request,
    onReply(reply, request, context) {
      noteKeys(reply, request, context)
      return reply
    },
  },
  {
    name: 'webhook-made-by-the-team',
    rule: 'createWebhook getWebhook: created_by',
    breaks: 'Webhooks are told to be made by their team.',
    ...replyItems('createWebhook getWebhook updateWebhook listWebhooks', item => {
      item.created_by = item.entity
    }),
  },
  {
    name: 'automation-made-by-the-team',
    rule: 'createAutomation getAutomation: created_by',
    breaks: 'Automations are told to be made by their team.',
    ...replyItems('createAutomation getAutomation updateAutomation listAutomations', item => {
      item.created_by = item.scope.entity
    }),
  },
  {
    name: 'link-made-by-the-first-user',
    rule: 'createRegistryLink: created_by',
    breaks: 'Links are told to be made by whoever made the first one.',
    ...replyJson('createRegistryLink', (link, context) => {
      const makers = listOf<string>(context, 'makers')
      makers.push(link.created_by)
      link.created_by = makers[0]
    }),
  },
  {
    name: 'link-made-by-its-reader',
    rule: 'createRegistryLink listRegistryLinks: created_by',
    breaks: 'The list of links tells other makers than the links alone.',
    ...replyItems('listRegistryLinks', item => {
      item.created_by = item.entity
    }),
  },
]

/** A project of another team in the header is taken where the caller's own key would have been. */
function doneForOthers(): Pick<Fault, 'onRequest'> {
  return {
    onRequest(request, context) {
      const ids = 'createChatCompletion createChatCompletionSlash listInferenceModels'
      const isHome = (request.headers['vendor-project'] ?? '').startsWith(`${HOME}/`)
      return isOf(ids, context) && isHome && isBySecond(request, context) ? withFirstKey(request, context) : request
    },
  }
}
