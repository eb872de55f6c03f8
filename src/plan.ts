import { ApiError } from './errors.ts'
import type { Queries } from './storage/database.ts'
import { findPlan } from './storage/teams.ts'

/** 403 unless the team's plan has webhooks and automations (seed: who may create). Call it after the check of membership. */
export async function requirePaidPlan(queries: Queries, entity: string): Promise<void> {
  if ((await findPlan(queries, entity)) === 'paid') return
  throw new ApiError(403, 'plan_too_low', `The plan of team ${entity} has no webhooks and no automations`)
}
