// biome-ignore-all lint/suspicious/noTemplateCurlyInString: payloads name their variables so
/** Changes that fire automations, of every type of event, and changes that are refused. Each can be made again without firing again. */
import { ApiError, type Client } from '../../generated/client.ts'

export interface Change {
  /** What the deliveries say that it must fire. */
  fires: string[]
  make(client: Client): Promise<unknown>
  /** Whether the service has it. */
  isMade(client: Client): Promise<boolean>
}

/** A change that the service must refuse, with this status. */
export interface RefusedChange extends Pick<Change, 'make'> {
  status: number
}

const entity = 'default'
const PROJECT = 'watched'
/** Of its own, since a new model fires alias events. */
const RUNS_PROJECT = 'runs'
/** Holds the version that bears aliases and tags. */
const REGISTRY = 'holding'
const LINKED_REGISTRY = 'linking'
const BASE = { entity, project: PROJECT, name: 'base', version: 'v0' }
const BASE_URI = `artifact:///${entity}/${PROJECT}/base:v0`
const IN_PROJECT = { type: 'project', entity, project: PROJECT } as const
const IN_REGISTRY = { type: 'registry', entity, registry: REGISTRY } as const
/** The name of what is refused: no delivery may speak of it. */
const REFUSED = 'refused'
/** One of each event, before the next of the first. */
const KINDS = [createUpload, createAlias, createTag, createLink, createMetric]

/** What the automations must be there for first: a signed webhook, a version in a registry, and a run for each metric event. */
export async function watchChanges(
  client: Client,
  { endpointUrl, signingKey, events }: { endpointUrl: string; signingKey: string; events: number },
): Promise<{ changes: Change[]; webhookId: string; automationIds: string[] }> {
  await client.putSecret({ entity, name: 'SIGNING_KEY', value: signingKey })
  const secrets = { signing_secret: 'SIGNING_KEY' }
  const { id: webhook_id } = await client.createWebhook({ entity, name: 'all', endpoint_url: endpointUrl, ...secrets })
  await upload(client, 'base')
  await client.createRegistryLink({ entity, registry: REGISTRY, collection: 'base', artifact: BASE_URI })
  const models: Record<number, string> = {}
  for (let number = KINDS.indexOf(createMetric); number < events; number += KINDS.length) {
    const model = { entity, project: RUNS_PROJECT, name: `run-${number}`, base_model: 'tiny-chat' }
    models[number] = (await client.createModel(model)).id
  }
  const onMetric = { type: 'RUN_METRIC', metric: 'val/reward', operator: '>=', threshold: 0.5 } as const
  const automations = [
    { scope: IN_PROJECT, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^upload-' }, says: '$alias' },
    { scope: IN_PROJECT, event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^alias-' }, says: '$alias' },
    {
      scope: IN_REGISTRY,
      event: { type: 'ADD_ARTIFACT_ALIAS', alias_regex: '^alias-' },
      says: '${alias} in a registry',
    },
    { scope: IN_REGISTRY, event: { type: 'ADD_ARTIFACT_TAG' }, says: '$tag' },
    {
      scope: { ...IN_REGISTRY, registry: LINKED_REGISTRY },
      event: { type: 'LINK_ARTIFACT' },
      says: '$artifact_collection_name',
    },
    { scope: { ...IN_PROJECT, project: RUNS_PROJECT }, event: onMetric, says: '$run_name' },
  ] as const
  const automationIds: string[] = []
  for (const { scope, event, says } of automations) {
    const automation = { name: says, enabled: true, scope, event, webhook_id, payload: { says } }
    automationIds.push((await client.createAutomation(automation)).id)
  }
  const changes = Array.from({ length: events }, (_, number) => KINDS[number % KINDS.length]!(number, models[number]!))
  return { changes, webhookId: webhook_id, automationIds }
}

function upload(client: Client, name: string, aliases: string[] = []) {
  return client.createArtifactVersion({
    ...{ entity, project: PROJECT, name },
    files: [{ name: 'a.txt', data: name }],
    version: { type: 'dataset', metadata: {}, aliases, tags: [] },
  })
}

function createUpload(number: number): Change {
  const name = `upload-${number}`
  return {
    fires: [name],
    make: client => upload(client, name, [name]),
    isMade: client => isThere(client.getArtifactVersion({ entity, project: PROJECT, name, version: name })),
  }
}

function createAlias(number: number): Change {
  const alias = `alias-${number}`
  return {
    fires: [alias, `${alias} in a registry`],
    make: client => client.addArtifactAlias({ ...BASE, alias }),
    isMade: client => isThere(client.getArtifactVersion({ ...BASE, version: alias })),
  }
}

function createTag(number: number): Change {
  const tag = `tag-${number}`
  return {
    fires: [tag],
    make: client => client.addArtifactTag({ ...BASE, tag }),
    isMade: async client => (await client.getArtifactVersion(BASE)).tags.includes(tag),
  }
}

function createLink(number: number): Change {
  const place = { entity, registry: LINKED_REGISTRY, collection: `link-${number}` }
  return {
    fires: [place.collection],
    make: client => client.createRegistryLink({ ...place, artifact: BASE_URI }),
    isMade: async client => (await client.listRegistryLinks(place)).data.length > 0,
  }
}

function createMetric(number: number, model_id: string): Change {
  const trajectory = { messages_and_choices: [{ role: 'user' as const, content: 'hi' }], reward: 0.5 }
  return {
    fires: [`run-${number}`],
    make: client =>
      client.logTrajectories({ model_id, split: 'val', trajectory_groups: [{ trajectories: [trajectory] }] }),
    isMade: async client => (await client.listTrajectories({ model_id })).data.length > 0,
  }
}

async function isThere(found: Promise<unknown>): Promise<boolean> {
  try {
    await found
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false
    throw error
  }
}

/** Their aliases would fire if anything of them were kept. */
export const REFUSED_CHANGES: RefusedChange[] = [
  { status: 422, make: client => upload(client, REFUSED, [`upload-${REFUSED}`, 'not/an/alias']) },
  { status: 404, make: client => client.addArtifactAlias({ ...BASE, version: 'v1', alias: `alias-${REFUSED}` }) },
  {
    status: 400,
    make: client =>
      client.createRegistryLink({
        ...{ entity, registry: LINKED_REGISTRY, collection: REFUSED },
        artifact: `artifact:///${entity}/${PROJECT}/base:v1`,
      }),
  },
]
