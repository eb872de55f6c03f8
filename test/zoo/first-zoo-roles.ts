/** Roles that do not count, or count too far, and what goes with a member. */
import { isOf, type Json, toError, toJsonReply } from './change-replies.ts'
import { jsonOf } from './change-requests.ts'
import type { Fault } from './fault.ts'
import { beside, remembered } from './held-out-zoo-tools.ts'
import { isBySecond, listOf, toJson, toSecond, withFirstKey } from './second-key.ts'

/** The user of the second key. */
const SECOND_USER = 'other'

type Condition = (body: Json, roles: Json[]) => boolean

/** What a member is refused for its role is done as the first key does it, where the condition holds: of what is sent, and of the roles given so far. */
function doneByMembers(ids: string, condition: Condition = () => true): Pick<Fault, 'onRequest'> {
  return {
    async onRequest(request, context) {
      const roles = listOf<Json>(context, 'roles')
      if (isOf('putMember', context) && context.path['user'] === SECOND_USER) roles.push(jsonOf(request))
      if (!isOf(ids, context) || !isBySecond(request, context)) return request
      const reply = await context.send(request)
      const isTooLow = reply.status === 403 && toJson(reply).error.code === 'role_too_low'
      return isTooLow && condition(jsonOf(request), roles) ? withFirstKey(request, context) : reply
    },
  }
}

const isGranted = (role: string, name: unknown, roles: Json[]) =>
  roles.some(given => (given?.[role] ?? []).includes(name))

/** What the second key made goes when its user leaves. `toPath` gives where the thing is deleted. */
function goesWithMaker(id: string, toPath: (made: Json) => string): Pick<Fault, 'onReply'> {
  return {
    async onReply(reply, request, context) {
      const made = listOf<string>(context, 'made')
      if (isOf(id, context) && reply.status === 200 && isBySecond(request, context)) made.push(toPath(toJson(reply)))
      if (!isOf('deleteMember', context) || reply.status !== 200) return reply
      for (const path of made.splice(0))
        await context.send({ ...request, method: 'DELETE', path: beside(request, path), body: Buffer.alloc(0) })
      return reply
    },
  }
}

const ADMINS_OF_THE_TEAM = {
  putMember: 'give roles',
  deleteMember: 'take others out of the team',
  putSecret: 'replace secrets',
  deleteSecret: 'delete secrets',
  createWebhook: 'create webhooks',
  updateWebhook: 'change webhooks',
  deleteWebhook: 'delete webhooks',
  testWebhook: 'test webhooks',
  createAutomation: 'create automations',
  updateAutomation: 'change automations',
  deleteAutomation: 'delete automations',
}

const OPEN_TO_MEMBERS = {
  listMembers: 'members',
  listSecrets: 'secrets',
  listWebhooks: 'webhooks',
  getWebhook: 'a-webhook',
  listWebhookDeliveries: 'deliveries',
  getAutomation: 'an-automation',
  listAutomationExecutions: 'executions',
}

export const roleFaults: Fault[] = [
  ...Object.entries(ADMINS_OF_THE_TEAM).map(([id, what]) => ({
    name: `members-may-${what.replaceAll(' ', '-')}`,
    rule: `${id}: needs an admin`,
    breaks: `A plain member of the team may ${what}.`,
    ...doneByMembers(id),
  })),
  ...Object.entries(OPEN_TO_MEMBERS).map(([id, what]) => ({
    name: `only-admins-read-${what}`,
    rule: `${id}: members may read it`,
    breaks: `${id} is a 403 for plain members.`,
    ...toSecond(id, 200, () => toError(403, 'Only an admin may', { type: 'permission_error', code: 'role_too_low' })),
  })),
  {
    name: 'project-admin-of-every-project',
    rule: 'createAutomation putMember: project_admin names projects',
    breaks: 'An admin of one project manages the automations of all.',
    ...doneByMembers('createAutomation', ({ scope }, roles) =>
      roles.some(given => scope?.type === 'project' && given?.project_admin?.length > 0),
    ),
  },
  {
    name: 'registry-admin-of-the-project-too',
    rule: 'createAutomation putMember: registry_admin names registries',
    breaks: 'An admin of a registry manages the automations of the project of that name too.',
    ...doneByMembers('createAutomation', ({ scope }, roles) => isGranted('registry_admin', scope?.project, roles)),
  },
  {
    name: 'project-admin-stays',
    rule: 'updateAutomation putMember: replaces all roles',
    breaks: 'Who was an admin of a project once may still change its automations.',
    ...doneByMembers('updateAutomation', (body, roles) =>
      roles.some(given => body?.scope === undefined && given?.project_admin?.length > 0),
    ),
  },
  {
    name: 'registry-admin-may-not-create',
    rule: 'createAutomation: an admin of the registry may',
    breaks: 'Only admins of the team create automations of a registry.',
    onRequest: (request, context) =>
      isOf('createAutomation', context) && isBySecond(request, context) && jsonOf(request)?.scope?.type === 'registry'
        ? toError(403, 'Only an admin of the team may', { type: 'permission_error', code: 'role_too_low' })
        : request,
  },
  {
    name: 'automation-moves-to-any-scope',
    rule: 'updateAutomation: who moves it must be an admin of both scopes',
    breaks: 'An automation may be moved into a scope that its mover is no admin of.',
    ...doneByMembers(
      'updateAutomation',
      ({ scope }, roles) => !!scope && !isGranted('project_admin', scope.project, roles),
    ),
  },
  {
    name: 'automation-moves-from-any-scope',
    rule: 'updateAutomation: who moves it must be an admin of both scopes',
    breaks: 'An automation may be moved away from a scope that its mover is no admin of.',
    ...doneByMembers(
      'updateAutomation',
      ({ scope }, roles) => !!scope && isGranted('project_admin', scope.project, roles),
    ),
  },
  {
    name: 'models-go-with-their-maker',
    rule: 'deleteMember createModel: what the user made stays',
    breaks: 'The models of a member are deleted when it is taken out.',
    ...goesWithMaker('createModel', ({ id }) => `/v1/preview/models/${id}`),
  },
  {
    name: 'artifacts-go-with-their-maker',
    rule: 'deleteMember createArtifactVersion: what the user made stays',
    breaks: 'The artifacts of a member are deleted when it is taken out.',
    ...goesWithMaker(
      'createArtifactVersion',
      ({ entity, project, name, version }) => `/v1/preview/artifacts/${entity}/${project}/${name}/versions/${version}`,
    ),
  },
  {
    name: 'run-without-its-maker',
    rule: 'deleteMember listRuns: what the user made stays',
    breaks: 'A run of somebody who left the team no longer tells who made it.',
    async onReply(reply, _, context) {
      const gone = remembered<boolean>(context, 'gone')
      if (isOf('deleteMember', context) && reply.status === 200) gone.set(toJson(reply).user, true)
      if (!isOf('listRuns', context) || reply.status !== 200) return reply
      const page = toJson(reply)
      for (const run of page.data) if (gone.has(run.user)) run.user = 'former member'
      return toJsonReply(200, page)
    },
  },
]
