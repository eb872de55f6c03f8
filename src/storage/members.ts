import type { Database, Queries } from './database.ts'
import type { Role } from './keys.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'

export interface MemberPlace {
  team: string
  user: string
}

/** What a member may do in a team: its role, and the projects and registries that it administers besides, by name. */
export interface Roles {
  role: Role
  projects: string[]
  registries: string[]
}

/** `id` is the user's name, by which pages are ordered. */
export type Member = MemberPlace & Roles & { id: string }

/** A change that would leave a team without an admin. */
export class LastAdminError extends Error {
  override name = 'LastAdminError' as const
}

/** Makes the user a member with exactly these roles, and the user where there is none of that name. Throws LastAdminError. */
export async function setMember(database: Database, { team, user }: MemberPlace, roles: Roles): Promise<Member> {
  return database.transaction().execute(async transaction => {
    await setRole(transaction, { team, user }, roles.role)
    await transaction.deleteFrom('grants').where('team', '=', team).where('user', '=', user).execute()
    const grants = [
      ...[...new Set(roles.projects)].map(name => ({ team, user, kind: 'project' as const, name })),
      ...[...new Set(roles.registries)].map(name => ({ team, user, kind: 'registry' as const, name })),
    ]
    if (grants.length > 0) await transaction.insertInto('grants').values(grants).execute()
    return (await findMember(transaction, { team, user }))!
  })
}

/** Sets the role alone. Without one, a member keeps its role and a new one is a plain member. Throws LastAdminError. */
export async function setRole(transaction: Queries, { team, user }: MemberPlace, role?: Role): Promise<void> {
  if (role === 'member') await requireAnotherAdmin(transaction, { team, user })
  await transaction
    .insertInto('users')
    .values({ name: user, created_at: new Date().toISOString() })
    .onConflict(conflict => conflict.doNothing())
    .execute()
  await transaction
    .insertInto('members')
    .values({ team, user, role: role ?? 'member' })
    .onConflict(conflict =>
      role ? conflict.columns(['team', 'user']).doUpdateSet({ role }) : conflict.columns(['team', 'user']).doNothing(),
    )
    .execute()
}

/**
 * Takes a user out of a team, with its roles there and its keys that are bound to the team; a user who is in no other team goes too.
 * Returns the number of keys, or null where the user is not in the team. Throws LastAdminError.
 */
export async function removeMember(database: Database, { team, user }: MemberPlace): Promise<number | null> {
  return database.transaction().execute(async transaction => {
    if (!(await findMember(transaction, { team, user }))) return null
    await requireAnotherAdmin(transaction, { team, user })
    const { numDeletedRows } = await transaction
      .deleteFrom('api_keys')
      .where('team', '=', team)
      .where('user', '=', user)
      .executeTakeFirstOrThrow()
    // Its grants go with it.
    await transaction.deleteFrom('members').where('team', '=', team).where('user', '=', user).execute()
    await transaction
      .deleteFrom('users')
      .where('name', '=', user)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('members').select('user').where('user', '=', user))),
      )
      .where(({ not, exists, selectFrom }) => not(exists(selectFrom('api_keys').select('id').where('user', '=', user))))
      .execute()
    return Number(numDeletedRows)
  })
}

export async function findMember(queries: Queries, { team, user }: MemberPlace): Promise<Member | null> {
  const row = await selectMembers(queries, team).where('user', '=', user).executeTakeFirst()
  return row ? (await withGrants(queries, team, [row]))[0]! : null
}

/** Ordered by name. */
export async function listMemberPage<Item extends { id: string }>(
  queries: Queries,
  team: string,
  page: PageQuery,
  toItem: (member: Member) => Item,
): Promise<Page<Item>> {
  const rows = await selectPage(selectMembers(queries, team), 'user', page, (row: MemberRow) => row, 'name')
  return { ...rows, data: (await withGrants(queries, team, rows.data)).map(toItem) }
}

/** All of a team, ordered by name. */
export async function listMembers(queries: Queries, team: string): Promise<Member[]> {
  return withGrants(queries, team, await selectMembers(queries, team).orderBy('user').execute())
}

interface MemberRow extends MemberPlace {
  id: string
  role: Role
}

function selectMembers(queries: Queries, team: string) {
  return queries.selectFrom('members').select(['user as id', 'team', 'user', 'role']).where('team', '=', team)
}

async function withGrants(queries: Queries, team: string, rows: MemberRow[]): Promise<Member[]> {
  if (rows.length === 0) return []
  const users = rows.map(row => row.user)
  const grants = await queries
    .selectFrom('grants')
    .selectAll()
    .where('team', '=', team)
    .where('user', 'in', users)
    .orderBy('name')
    .execute()
  return rows.map(row => {
    const own = grants.filter(grant => grant.user === row.user)
    const namesOf = (kind: 'project' | 'registry') => own.filter(grant => grant.kind === kind).map(({ name }) => name)
    return { ...row, projects: namesOf('project'), registries: namesOf('registry') }
  })
}

/** Throws LastAdminError where the user is the only admin of the team. */
async function requireAnotherAdmin(queries: Queries, { team, user }: MemberPlace): Promise<void> {
  const admins = await queries
    .selectFrom('members')
    .select('user')
    .where('team', '=', team)
    .where('role', '=', 'admin')
    .limit(2)
    .execute()
  if (admins.length === 1 && admins[0]!.user === user)
    throw new LastAdminError(`${user} is the last admin of team ${team}: make another member an admin first`)
}
