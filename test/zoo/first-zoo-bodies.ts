/** Bodies of replies that are not what the contract describes. */
import { replyHeaders, replyItems, replyJson, replyStatus, replyText, toJsonReply } from './change-replies.ts'
import type { Fault } from './fault.ts'

export const bodyFaults: Fault[] = [
  {
    name: 'missing-field',
    rule: 'createModel 200, schema Model: run_id is required',
    breaks: 'The model that createModel gives has no run_id.',
    ...replyJson('createModel', ({ run_id: _, ...rest }) => rest),
  },
  {
    name: 'wrong-type',
    rule: 'createArtifactVersion 200, schema ArtifactVersion: metadata is an object',
    breaks: 'The metadata of an artifact version is a list of pairs.',
    ...replyJson('createArtifactVersion', body => ({ ...body, metadata: Object.entries(body.metadata ?? {}) })),
  },
  {
    name: 'int-string',
    rule: 'listCheckpoints 200, schema Checkpoint: step is an integer',
    breaks: 'The steps of checkpoints are strings.',
    ...replyItems('listCheckpoints', item => ({ ...item, step: String(item.step) })),
  },
  {
    name: 'seq-string',
    rule: 'getUsage 200, schema UsageLine: requests is an integer',
    breaks: 'The number of requests of a usage line is a string.',
    ...replyItems('getUsage', item => ({ ...item, requests: String(item.requests) })),
  },
  {
    name: 'seq-huge',
    rule: 'listCheckpoints 200, schema Checkpoint: step is an integer of 64 bits',
    breaks: 'The step of a checkpoint is 1e30.',
    ...replyText('listCheckpoints', text => text.replace('"step":0', '"step":1e30')),
  },
  {
    name: 'extra-prop',
    rule: 'Ids, times and null: responses never hold a key that the document does not name',
    breaks: 'The model that createModel gives has a key `internal`.',
    ...replyJson('createModel', body => ({ ...body, internal: true })),
  },
  {
    name: 'extra-prop-deep',
    rule: 'Ids, times and null: responses never hold a key that the document does not name',
    breaks: 'The message of a chat choice has a key `secret`.',
    ...replyJson('createChatCompletion', body => {
      body.choices[0].message.secret = 1
    }),
  },
  {
    name: 'date-format',
    rule: 'Ids, times and null: times are RFC 3339',
    breaks: 'The created_at of getModel is a date in words.',
    ...replyJson('getModel', body => ({ ...body, created_at: new Date(body.created_at).toUTCString() })),
  },
  {
    name: 'date-space',
    rule: 'Ids, times and null: times are RFC 3339',
    breaks: 'The created_at of listModels has a space instead of the T.',
    ...replyItems('listModels', item => ({ ...item, created_at: item.created_at.replace('T', ' ') })),
  },
  {
    name: 'date-no-zone',
    rule: 'Ids, times and null: times are in UTC',
    breaks: 'The created_at of a scorer has no zone.',
    ...replyItems('createScorer', item => ({ ...item, created_at: item.created_at.replace('Z', '') })),
  },
  {
    name: 'date-no-milliseconds',
    rule: 'Ids, times and null: times have milliseconds',
    breaks: 'The created_at of a scorer ends at the second.',
    ...replyItems('createScorer', item => ({ ...item, created_at: item.created_at.replace(/\.\d+Z$/, 'Z') })),
  },
  {
    name: 'date-other-zone',
    rule: 'Ids, times and null: times are in UTC',
    breaks: 'The created_at of createModel is in the zone +02:00.',
    ...replyJson('createModel', body => {
      const shifted = new Date(Date.parse(body.created_at) + 7_200_000).toISOString()
      return { ...body, created_at: shifted.replace('Z', '+02:00') }
    }),
  },
  {
    name: 'null-omitted',
    rule: 'Ids, times and null: a declared field without a value is present and null',
    breaks: 'A scorer without a description has no key `description`.',
    ...replyItems('createScorer getScorer', item => {
      if (item.description === null) delete item.description
    }),
  },
  {
    name: 'enum-unknown',
    rule: 'createChatCompletion 200, schema ChatCompletionChoice: finish_reason is one of three',
    breaks: 'A choice that came to its end has finish_reason `eos`.',
    ...replyJson('createChatCompletion', body => {
      for (const choice of body.choices) if (choice.finish_reason === 'stop') choice.finish_reason = 'eos'
    }),
  },
  {
    name: 'discriminator',
    rule: 'listTrainingJobEvents 200, schema TrainingEvent: the type tells what data holds',
    breaks: 'The first event of a job has the type of a gradient step and the data of a start with a text in it.',
    needs: ['training'],
    ...replyItems('listTrainingJobEvents', item =>
      item.type === 'gradient_step' ? { ...item, data: { ...item.data, loss: 'low' } } : item,
    ),
  },
  {
    name: 'uuid-format',
    rule: 'createModel 200, schema Model: id is a UUID',
    breaks: 'The id of a deleted model comes without hyphens.',
    ...replyJson('deleteModel', body => ({ ...body, model_id: body.model_id.replaceAll('-', '') })),
  },
  {
    name: 'uuid-version',
    rule: 'Ids, times and null: ids are UUIDs of version 7',
    breaks: 'Ids of artifact versions are UUIDs of version 4.',
    ...replyItems('createArtifactVersion getArtifactVersion listArtifactVersions', item => ({
      ...item,
      id: item.id.replace(/-7(...)-/, '-4$1-'),
    })),
  },
  {
    name: 'id-case',
    rule: 'Ids, times and null: ids are in lower case',
    breaks: 'createModel gives the id in upper case.',
    ...replyJson('createModel', body => ({ ...body, id: body.id.toUpperCase() })),
  },
  {
    name: 'invalid-json',
    rule: 'listModels 200: the body is JSON',
    breaks: 'The body of listModels has a comma after its last key.',
    ...replyText('listModels', text => text.replace(/\}$/, ',}')),
  },
  {
    name: 'duplicate-keys',
    rule: 'getModel 200: the body is JSON, whose objects have each key once (RFC 8259, section 4)',
    breaks: 'The body of getModel has the key `id` twice.',
    ...replyText('getModel', text => text.replace(/^\{/, '{"id":"first",')),
  },
  {
    name: 'not-utf8',
    rule: 'getArtifactVersion 200: JSON is UTF-8 (RFC 8259, section 8.1)',
    breaks: 'The body of getModel begins with a byte that is not UTF-8, within a string of its own.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'getModel' && reply.status === 200
        ? { ...reply, body: Buffer.from(reply.body.toString('utf8').replace('"name":"', '"name":"\u00ff'), 'latin1') }
        : reply,
  },
  {
    name: 'empty-200',
    rule: 'deleteModel 200: the body is a DeletedModel',
    breaks: 'deleteModel answers 200 without a body.',
    ...replyText('deleteModel', () => ''),
  },
  {
    name: 'delete-body',
    rule: 'deleteScorer 200: the body is a DeletedScorer',
    breaks: 'deleteScorer answers `{"deleted":true}`.',
    ...replyJson('deleteScorer', () => ({ deleted: true })),
  },
  {
    name: 'loc-numbers',
    rule: 'schema ValidationDetail: loc holds strings',
    breaks: 'Places in lists are numbers in the loc of a 422.',
    ...replyJson(
      '*',
      body => {
        for (const detail of body.detail)
          detail.loc = detail.loc.map((step: string) => (/^\d+$/.test(step) ? Number(step) : step))
      },
      [422],
    ),
  },
  {
    name: 'list-bare',
    rule: 'Lists: the envelope is an object with five keys',
    breaks: 'listScorers gives the bare array.',
    ...replyJson('listScorers', body => body.data),
  },
  {
    name: 'content-type',
    rule: 'listInferenceModels 200: application/json',
    breaks: 'listInferenceModels says that its body is HTML.',
    ...replyHeaders('listInferenceModels', () => ({ 'content-type': 'text/html' })),
  },
  {
    name: 'content-type-missing',
    rule: 'getSystemCheck 200: application/json',
    breaks: 'getSystemCheck does not say what its body is.',
    ...replyHeaders('getSystemCheck', () => ({ 'content-type': undefined })),
  },
  {
    name: 'charset-latin1',
    rule: 'listRouterModels 200: JSON is UTF-8 (RFC 8259, section 8.1)',
    breaks: 'listRouterModels says that its body is in ISO-8859-1.',
    ...replyHeaders('listRouterModels', () => ({ 'content-type': 'application/json; charset=iso-8859-1' })),
  },
  {
    name: 'status-201',
    rule: 'createModel: 200 is its only success',
    breaks: 'createModel answers 201.',
    ...replyStatus('createModel', 200, 201),
  },
  {
    name: 'status-202',
    rule: 'createScorer: 200 is its only success',
    breaks: 'createScorer answers 202.',
    ...replyStatus('createScorer', 200, 202),
  },
  {
    name: 'status-204',
    rule: 'deleteArtifactAlias: 200 with the version',
    breaks: 'deleteArtifactAlias answers 204 without a body.',
    onReply: (reply, _, { operationId }) =>
      operationId === 'deleteArtifactAlias' && reply.status === 200
        ? { ...toJsonReply(204, null), body: Buffer.alloc(0) }
        : reply,
  },
]
