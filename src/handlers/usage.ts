import type { components } from '../../generated/schema.d.ts'
import { requireMember } from '../auth.ts'
import { invalidValue } from '../errors.ts'
import { fromModelName, toModelName } from '../inference/model-name.ts'
import type { Handler } from '../spec/handler.ts'
import type { UsageRow } from '../storage/tables.ts'
import { listUsageRows } from '../storage/usage.ts'

export const getUsage: Handler<'getUsage'> = async ({ query }, { database, principal, settings, usage }) => {
  const { entity, project, model, from, to } = query
  if (entity !== undefined) requireMember(principal, entity)
  if (from !== undefined && to !== undefined && from > to) {
    throw invalidValue(['query', 'from'], `from must not be after to, which is ${to}`)
  }
  const scheme = settings.artifactScheme
  const filter = {
    teams: entity === undefined ? [...principal.teams.keys()] : [entity],
    project,
    model: model === undefined ? undefined : toModelName(model, scheme),
    from,
    to,
  }
  await usage.flush()
  return { status: 200, body: await listUsageRows(database, filter, query, row => toLine(row, scheme)) }
}

function toLine({ project, model, ...line }: UsageRow, scheme: string): components['schemas']['UsageLine'] {
  return { ...line, project: project || null, model: fromModelName(model, scheme) }
}
