import { requireMember } from './auth.ts'
import type { Principal } from './storage/keys.ts'

/** Whom a request's usage counts for. */
export interface Attribution {
  entity: string
  /** Empty: none was named. */
  project: string
}

const TEAM_AND_PROJECT = /^([^/]+)\/([^/]+)$/

/**
 * Reads `<team>/<project>` from the project header, or from `OpenAI-Project`, of which other values are no error; without either it is the
 * key's team. Throws 403 for a team that the caller is not in.
 */
export function toAttribution(principal: Principal, headers: Record<string, string | undefined>): Attribution {
  const match = TEAM_AND_PROJECT.exec(headers['vendor-project'] ?? headers['openai-project'] ?? '')
  if (!match) return { entity: principal.team, project: '' }
  const [, entity, project] = match as unknown as [string, string, string]
  requireMember(principal, entity)
  return { entity, project }
}
