import type { Settings } from './config.ts'
import { CommandError, withDatabase } from './operator-database.ts'
import { requireName } from './resource-name.ts'
import type { Database } from './storage/database.ts'
import {
  listMembers,
  type Member,
  type MemberPlace,
  type Roles,
  removeMember,
  setMember,
  setRole,
} from './storage/members.ts'
import type { Plan } from './storage/tables.ts'
import { ensureTeam, findPlan, listTeams, setPlan, type TeamSummary } from './storage/teams.ts'

/** `trainyard teams list`. */
export function listAllTeams(settings: Settings): Promise<TeamSummary[]> {
  return withDatabase(settings, listTeams)
}

/** `trainyard teams create`: a team, with its first admin where one is named. Throws CommandError where it exists. */
export async function createTeam(
  settings: Settings,
  { team, plan, admin }: { team: string; plan: Plan; admin?: string },
): Promise<void> {
  requireName('team', team)
  if (admin !== undefined) requireName('user', admin)
  const create = (database: Database) =>
    database.transaction().execute(async transaction => {
      if (!(await ensureTeam(transaction, team, plan))) throw new CommandError(`The team ${team} exists already`)
      if (admin !== undefined) await setRole(transaction, { team, user: admin }, 'admin')
    })
  await withDatabase(settings, create, { mayCreate: true })
}

/** `trainyard teams set-plan`. It counts at once, also for a server that runs. */
export async function changePlan(settings: Settings, team: string, plan: Plan): Promise<void> {
  const isThere = await withDatabase(settings, database => setPlan(database, team, plan))
  if (!isThere) throw noTeam(team)
}

/** `trainyard teams members`. */
export function listTeamMembers(settings: Settings, team: string): Promise<Member[]> {
  return withDatabase(settings, async database => {
    if ((await findPlan(database, team)) === null) throw noTeam(team)
    return listMembers(database, team)
  })
}

/** `trainyard teams set-member`: replaces the member's roles. Throws LastAdminError. */
export async function changeMember(settings: Settings, place: MemberPlace, roles: Roles): Promise<void> {
  requireName('user', place.user)
  for (const name of roles.projects) requireName('project', name)
  for (const name of roles.registries) requireName('registry', name)
  await withDatabase(settings, async database => {
    if ((await findPlan(database, place.team)) === null) throw noTeam(place.team)
    await setMember(database, place, roles)
  })
}

/** `trainyard teams remove-member`: returns how many of the user's keys were revoked with it. Throws LastAdminError. */
export async function dropMember(settings: Settings, { team, user }: MemberPlace): Promise<number> {
  const keys = await withDatabase(settings, database => removeMember(database, { team, user }))
  if (keys === null) throw new CommandError(`${user} is not a member of a team ${team}`)
  return keys
}

function noTeam(team: string): CommandError {
  return new CommandError(`There is no team ${team}`)
}
