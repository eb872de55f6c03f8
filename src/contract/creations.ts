/** What operations make that stays, what takes it away again, and what cannot be taken away. */

export interface Creation {
  /** For a reader, such as `model`. */
  kind: string
  /** The operation that takes it away; null: none does, or it goes with what it belongs to. */
  undo: string | null
  /** Its path parameters that are not those of the creating operation: where the reply, or an item of the list, holds them. */
  from: Readonly<Record<string, string>>
  /** The operation that lists what was made, for when the reply never came. */
  list: string | null
  /** It goes with what it belongs to, so it does not matter where it cannot be taken away by itself. */
  goesAlong: boolean
  /** What stays after it was taken away; null: nothing. */
  trace: string | null
}

const creation = (
  kind: string,
  undo: string | null,
  more: Partial<Omit<Creation, 'kind' | 'undo'>> = {},
): Creation => ({
  kind,
  undo,
  from: {},
  list: null,
  goesAlong: false,
  trace: null,
  ...more,
})

const COLLECTIONS = 'names of artifact collections, and the numbers that their versions had'

const job = creation('training job', 'cancelTrainingJob', {
  from: { training_job_id: 'id' },
  goesAlong: true,
  trace: 'idempotency keys of training jobs, for the time that they are remembered',
})

/** By operationId. The order is that in which what is found in lists is taken away: what refers to others comes before them. */
export const CREATIONS: Readonly<Record<string, Creation>> = {
  createAutomation: creation('automation', 'deleteAutomation', {
    from: { automation_id: 'id' },
    list: 'listAutomations',
  }),
  createWebhook: creation('webhook', 'deleteWebhook', { from: { webhook_id: 'id' }, list: 'listWebhooks' }),
  putSecret: creation('secret', 'deleteSecret', { from: { name: 'name' }, list: 'listSecrets' }),
  createRegistryLink: creation('registry link', null),
  createRlTrainingJob: job,
  createSftTrainingJob: job,
  createModel: creation('model', 'deleteModel', {
    from: { model_id: 'id' },
    list: 'listModels',
    trace: COLLECTIONS,
  }),
  addArtifactAlias: creation('alias', null),
  addArtifactTag: creation('tag', null),
  createArtifactVersion: creation('artifact version', 'deleteArtifactVersion', {
    from: { version: 'version' },
    list: 'listArtifactVersions',
    trace: COLLECTIONS,
  }),
  createScorer: creation('scorer', 'deleteScorer', {
    from: { object_id: 'object_id' },
    list: 'listScorers',
    trace: 'numbers that deleted versions of scorers had',
  }),
  createApiKey: creation('API key', 'deleteApiKey', { from: { api_key_id: 'id' }, list: 'listApiKeys' }),
  putMember: creation('member', 'deleteMember', { from: { user: 'user' }, list: 'listMembers' }),
  createChatCompletion: creation('usage', null, { trace: 'usage' }),
  createChatCompletionSlash: creation('usage', null, { trace: 'usage' }),
}

/** Kinds of things that stay although everything was taken away, given the requests by operation and status. */
export function findTraces(counts: Readonly<Record<string, Readonly<Record<string, number>>>>): string[] {
  const isUsed = (operationId: string) => Object.keys(counts[operationId] ?? {}).some(status => status.startsWith('2'))
  const traces = Object.entries(CREATIONS).map(([operationId, { trace }]) => (isUsed(operationId) ? trace : null))
  return [...new Set(traces.filter(trace => trace !== null))]
}
