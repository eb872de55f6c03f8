import { notAMember, requireMember } from '../auth.ts'
import { notFound } from '../errors.ts'
import type { Handler } from '../spec/handler.ts'
import { createKeyValue, deleteKey, insertKey, listKeyRows } from '../storage/keys.ts'
import { findMember } from '../storage/members.ts'

export const createApiKey: Handler<'createApiKey'> = async ({ body }, { database, principal }) => {
  const team = body.team ?? principal.team
  requireMember(principal, team)
  const { user } = principal
  const key = createKeyValue()
  const row = await database.transaction().execute(async transaction => {
    // Who was taken out of the team a moment ago gets no key that would outlast it.
    if (!(await findMember(transaction, { team, user }))) throw notAMember(team)
    return insertKey(transaction, { value: key, user, team, name: body.name })
  })
  return { status: 200, body: { ...row, key } }
}

export const listApiKeys: Handler<'listApiKeys'> = async ({ query }, { database, principal }) => ({
  status: 200,
  body: await listKeyRows(database, principal.user, query, row => row),
})

export const deleteApiKey: Handler<'deleteApiKey'> = async ({ path }, { database, principal, authenticator }) => {
  const id = path.api_key_id.toLowerCase()
  if (!(await deleteKey(database, id, principal.user))) throw notFound(`The API key ${path.api_key_id}`)
  authenticator.forget()
  return { status: 200, body: { id, deleted: true } }
}
