import { hash, randomBytes } from 'node:crypto'
import { v7 as uuid } from 'uuid'
import type { Database, Queries } from './database.ts'

/** Bits of randomness of a key that we make. */
const KEY_BITS = 256
/** A given key with fewer characters is refused. */
const LEAST_KEY_LENGTH = 8
/** A given key with fewer characters cannot hold 128 random bits (6 each): fit for trials, and worth a warning. */
const SAFE_KEY_LENGTH = 22

export type Role = 'member' | 'admin'

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
 * Throws RangeError when the value is too short for any use.
 */
export async function addKey(
  database: Database,
  { value, user, team, role, name }: { value: string; user: string; team: string; role: Role; name: string },
): Promise<string> {
  if (value.length < LEAST_KEY_LENGTH)
    throw new RangeError(`An API key must have at least ${LEAST_KEY_LENGTH} characters`)
  const created_at = new Date().toISOString()
  return database.transaction().execute(async transaction => {
    await transaction
      .insertInto('users')
      .values({ name: user, created_at })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    await transaction
      .insertInto('teams')
      .values({ name: team, created_at })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    await transaction
      .insertInto('members')
      .values({ team, user, role })
      .onConflict(conflict => conflict.columns(['team', 'user']).doUpdateSet({ role }))
      .execute()
    await transaction
      .insertInto('api_keys')
      .values({ id: uuid(), hash: hashKey(value), user, team, name, created_at })
      .onConflict(conflict => conflict.doNothing())
      .execute()
    const row = await transaction
      .selectFrom('api_keys')
      .select('id')
      .where('hash', '=', hashKey(value))
      .executeTakeFirstOrThrow()
    return row.id
  })
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
