import type { Database, Queries } from './database.ts'
import type { Plan } from './tables.ts'

export interface TeamSummary {
  name: string
  plan: Plan
  members: number
  created_at: string
}

/** A team's plan, or null where there is no such team. */
export async function findPlan(queries: Queries, team: string): Promise<Plan | null> {
  const row = await queries.selectFrom('teams').select('plan').where('name', '=', team).executeTakeFirst()
  return row?.plan ?? null
}

/** Makes the team where it does not exist. Returns whether it was made. */
export async function ensureTeam(queries: Queries, name: string, plan: Plan = 'paid'): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await queries
    .insertInto('teams')
    .values({ name, plan, created_at: new Date().toISOString() })
    .onConflict(conflict => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

/** Returns false where there is no such team. */
export async function setPlan(database: Database, team: string, plan: Plan): Promise<boolean> {
  const { numUpdatedRows } = await database
    .updateTable('teams')
    .set({ plan })
    .where('name', '=', team)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** All teams, by name. */
export function listTeams(queries: Queries): Promise<TeamSummary[]> {
  return queries
    .selectFrom('teams')
    .leftJoin('members', 'members.team', 'teams.name')
    .select(({ fn }) => ['name', 'plan', 'created_at', fn.count<number>('members.user').as('members')])
    .groupBy(['name', 'plan', 'created_at'])
    .orderBy('name')
    .execute()
}
