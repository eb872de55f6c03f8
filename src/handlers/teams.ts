import type { components } from '../../generated/schema.d.ts'
import { requireMember, requireTeamAdmin } from '../auth.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Handler } from '../spec/handler.ts'
import { LastAdminError, listMemberPage, type Member, removeMember, setMember } from '../storage/members.ts'

export const listMembers: Handler<'listMembers'> = async ({ path, query }, { database, principal }) => {
  requireMember(principal, path.entity)
  return { status: 200, body: await listMemberPage(database, path.entity, query, toMember) }
}

export const putMember: Handler<'putMember'> = async ({ path, body }, { database, principal, authenticator }) => {
  requireTeamAdmin(principal, path.entity)
  const place = { team: path.entity, user: path.user }
  const { role, project_admin, registry_admin } = body
  const roles = { role, projects: project_admin ?? [], registries: registry_admin ?? [] }
  const member = await setMember(database, place, roles).catch(refuseLastAdmin)
  authenticator.forget()
  return { status: 200, body: toMember(member) }
}

export const deleteMember: Handler<'deleteMember'> = async ({ path }, { database, principal, authenticator }) => {
  requireTeamAdmin(principal, path.entity)
  const { entity, user } = path
  const deleted_api_keys = await removeMember(database, { team: entity, user }).catch(refuseLastAdmin)
  if (deleted_api_keys === null) throw notFound(`Member ${user} of team ${entity}`)
  authenticator.forget()
  return { status: 200, body: { id: user, entity, user, deleted_api_keys, deleted: true } }
}

function refuseLastAdmin(error: unknown): never {
  if (error instanceof LastAdminError) throw new ApiError(400, 'last_admin', error.message)
  throw error
}

function toMember({ id, team, user, role, projects, registries }: Member): components['schemas']['Member'] {
  return { id, entity: team, user, role, project_admin: projects, registry_admin: registries }
}
