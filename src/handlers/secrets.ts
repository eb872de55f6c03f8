import type { components } from '../../generated/schema.d.ts'
import { requireMember, requireTeamAdmin } from '../auth.ts'
import { ApiError, invalidValue, notFound } from '../errors.ts'
import type { Handler } from '../spec/handler.ts'
import { deleteSecretRow, findSecret, findUseOfSecret, listSecretRows, storeSecret } from '../storage/secrets.ts'
import type { SecretRow } from '../storage/tables.ts'

export const putSecret: Handler<'putSecret'> = async ({ path, body }, { database, principal, secrets }) => {
  requireTeamAdmin(principal, path.entity)
  if (!body.value.isWellFormed())
    throw invalidValue(['body', 'value'], 'String should not hold half of a surrogate pair', 'string_unicode')
  return { status: 200, body: toSecret(await storeSecret(database, secrets, path, body.value)) }
}

export const listSecrets: Handler<'listSecrets'> = async ({ path, query }, { database, principal }) => {
  requireMember(principal, path.entity)
  return { status: 200, body: await listSecretRows(database, path.entity, query, toSecret) }
}

export const deleteSecret: Handler<'deleteSecret'> = async ({ path }, { database, principal }) => {
  requireTeamAdmin(principal, path.entity)
  const { id, entity, name } = await database.transaction().execute(async transaction => {
    const secret = await findSecret(transaction, path)
    if (!secret) throw notFound(`The secret ${path.name}`)
    const webhook = await findUseOfSecret(transaction, path)
    if (webhook !== null)
      throw new ApiError(400, 'secret_in_use', `The webhook ${webhook} refers to the secret ${path.name}`)
    await deleteSecretRow(transaction, secret.id)
    return secret
  })
  return { status: 200, body: { id, entity, name, deleted: true } }
}

function toSecret({ id, entity, name, created_at, updated_at }: SecretRow): components['schemas']['Secret'] {
  return { id, entity, name, created_at, updated_at }
}
