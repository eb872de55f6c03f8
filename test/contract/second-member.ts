/** The user of the second key, as a member of the team of the first one. Checks that use it run alone: others rely on its being in another team. */

import { SkipError } from '../../src/contract/check.ts'
import type { CallOptions } from '../../src/contract/client.ts'
import { walk } from './pages.ts'
import { client, home, noteMaking, runId, target } from './setup.ts'

export interface Roles {
  role?: 'member' | 'admin'
  project_admin?: string[]
  registry_admin?: string[]
}

export interface SecondMember {
  as: { bearer: string }
  /** Where the membership is. */
  path: { entity: string; user: string }
  /** Replaces all roles. */
  put(roles: Roles): Promise<unknown>
}

export function asSecond(): { bearer: string } {
  return { bearer: target.secondApiKey! }
}

/** Whom a key stands for, and the team that is meant where its requests name none. Default: the first key. */
export async function whoIs(as: Pick<CallOptions, 'as'> = {}): Promise<{ user: string; team: string }> {
  return client.ok('createApiKey', { body: { name: `${runId}-who` }, ...as })
}

/** The user is in the team as long as `run` takes. */
export async function asMember(roles: Roles, run: (member: SecondMember) => Promise<void>): Promise<void> {
  const as = asSecond()
  const { user } = await whoIs({ as })
  // Else the suite would take the role away that it needs itself.
  if (user === (await whoIs()).user) throw new Error(`Both keys are told to be of the user ${user}`)
  const path = { entity: home.entity, user }
  const before = await walk('listMembers', { path: { entity: home.entity } }, { limit: 100 })
  if (before.includes(user)) throw new SkipError('the user of the second key is in the team of the first one already')
  // For a check that runs out of time, and for a crash.
  noteMaking('putMember', path, { user })
  const put = (roles: Roles) => client.ok('putMember', { path, body: { role: 'member', ...roles } })
  const leave = () => client.call('deleteMember', { path })
  await put(roles)
  try {
    await run({ as, path, put })
  } finally {
    await leave()
  }
}
