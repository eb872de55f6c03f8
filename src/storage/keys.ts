import { hash, randomBytes } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Database, Queries } from './database.ts'
import { setRole } from './members.ts'
import { type Page, type PageQuery, selectPage } from './page.ts'
import { ensureTeam } from './teams.ts'

/** Bits of randomness of a key that we make. */
const KEY_BITS = 256
/** A given key with fewer characters is refused. */
const LEAST_KEY_LENGTH = 8
/** A given key with fewer characters cannot hold 128 random bits (6 each): fit for trials, and worth a warning. */
const SAFE_KEY_LENGTH = 22

export type Role = 'member' | 'admin'

/** A stored key, without its digest. */
export interface KeyRow {
  id: string
  user: string
  team: string
  name: string
  created_at: string
}

/** Who calls: the user of a key, the teams of that user, and the team of the key. */
export interface Principal {
  keyId: string
  user: string
  team: string
  teams: ReadonlyMap<string, Role>
  /** What the user administers besides, as `<kind>/<team>/<name>`. */
  grants: ReadonlySet<string>
}

export function createKeyValue(): string {
  return `ty-${randomBytes(KEY_BITS / 8).toString('base64url')}`
}

/** Whether a given key is too short to hold 128 random bits. */
export function isWeakKey(value: string): boolean {
  return value.length < SAFE_KEY_LENGTH
}

/** Only this digest is stored. A key has at least 128 random bits, so a fast hash is enough. */
export function hashKey(value: string): string {
  return hash('sha256', value)
}

/**
 * Stores a key, making its user, team and membership where they do not exist yet. Returns the key's id; a key stored before is left as it is.
 * A member keeps its role where none is given. Throws RangeError when the value is too short for any use, and LastAdminError.
 */
export async function addKey(
  database: Database,
  { value, user, team, role, name }: { value: string; user: string; team: string; role?: Role; name: string },
): Promise<string> {
  if (value.length < LEAST_KEY_LENGTH)
    throw new RangeError(`An API key must have at least ${LEAST_KEY_LENGTH} characters`)
  return database.transaction().execute(async transaction => {
    await ensureTeam(transaction, team)
    await setRole(transaction, { team, user }, role)
    const known = await transaction
      .selectFrom('api_keys')
      .select('id')
      .where('hash', '=', hashKey(value))
      .executeTakeFirst()
    return known?.id ?? (await insertKey(transaction, { value, user, team, name })).id
  })
}

/** Stores a key of a user who is a member of the team. */
export async function insertKey(
  queries: Queries,
  { value, user, team, name }: { value: string; user: string; team: string; name: string },
): Promise<KeyRow> {
  const row = { id: uuid(), user, team, name, created_at: new Date().toISOString() }
  await queries
    .insertInto('api_keys')
    .values({ ...row, hash: hashKey(value) })
    .execute()
  return row
}

export function listKeyRows<Item extends { id: string }>(
  queries: Queries,
  user: string,
  page: PageQuery,
  toItem: (row: KeyRow) => Item,
): Promise<Page<Item>> {
  return selectPage(selectKeys(queries).where('user', '=', user), 'id', page, toItem)
}

/** Keys of all users, the oldest first. */
export function listAllKeys(queries: Queries, filter: { user?: string; team?: string }): Promise<KeyRow[]> {
  let select = selectKeys(queries).orderBy('id')
  if (filter.user !== undefined) select = select.where('user', '=', filter.user)
  if (filter.team !== undefined) select = select.where('team', '=', filter.team)
  return select.execute()
}

/** Returns whether there was such a key, of that user where one is given. */
export async function deleteKey(queries: Queries, id: string, user?: string): Promise<boolean> {
  let deletion = queries.deleteFrom('api_keys').where('id', '=', id.toLowerCase())
  if (user !== undefined) deletion = deletion.where('user', '=', user)
  return (await deletion.executeTakeFirstOrThrow()).numDeletedRows === 1n
}

function selectKeys(queries: Queries) {
  return queries.selectFrom('api_keys').select(['id', 'user', 'team', 'name', 'created_at'])
}

export async function hasAnyKey(database: Queries): Promise<boolean> {
  return (await database.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()) !== undefined
}

export async function findPrincipal(database: Queries, hash: string): Promise<Principal | null> {
  const key = await database.selectFrom('api_keys').selectAll().where('hash', '=', hash).executeTakeFirst()
  if (!key) return null
  const members = await database.selectFrom('members').selectAll().where('user', '=', key.user).execute()
  const grants = await database.selectFrom('grants').selectAll().where('user', '=', key.user).execute()
  return {
    keyId: key.id,
    user: key.user,
    team: key.team,
    teams: new Map(members.map(({ team, role }) => [team, role])),
    grants: new Set(grants.map(({ kind, team, name }) => `${kind}/${team}/${name}`)),
  }
}
