import type { SecretBox } from '../secrets/secret-box.ts'
import type { Queries } from './database.ts'

/** A secret's value, or null where the team has none of that name. Throws where its master key is not at hand. */
export async function readSecret(
  queries: Queries,
  box: SecretBox,
  { entity, name }: { entity: string; name: string },
): Promise<string | null> {
  const row = await queries
    .selectFrom('secrets')
    .selectAll()
    .where('entity', '=', entity)
    .where('name', '=', name)
    .executeTakeFirst()
  return row ? box.open({ keyId: row.key_id, sealed: row.sealed }, toPlace(row)) : null
}

/** What a sealed value is bound to. */
export function toPlace({ entity, name }: { entity: string; name: string }): string {
  return `${entity}/${name}`
}
