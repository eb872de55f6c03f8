import { ApiError } from './errors.ts'
import type { Queries } from './storage/database.ts'

/** 403 unless the plan of the team has webhooks and automations. */
export async function requirePaidPlan(queries: Queries, entity: string): Promise<void> {
  const team = await queries.selectFrom('teams').select('plan').where('name', '=', entity).executeTakeFirst()
  if (team?.plan === 'free')
    throw new ApiError(403, 'plan_too_low', `The plan of team ${entity} does not include webhooks and automations`)
}
