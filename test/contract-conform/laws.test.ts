import { expect, test } from 'vitest'
import type { Exchange } from '../../src/contract/conforming-fetch.ts'
import { findBreaches } from '../../src/contract/laws.ts'
import { createLeakFinder } from '../../src/contract/leaks.ts'
import { createRequestIdJudge } from '../../src/contract/request-ids.ts'
import { NOTHING_GIVEN, type Target } from '../../src/contract/target.ts'
import { operationById } from '../../src/spec/document.ts'

const BASE = 'http://127.0.0.1:1/prefix'
const ID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'
const OTHER = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b41'
const NOW = '2026-01-02T03:04:05.006Z'
const LATER = '2026-01-02T03:04:05.007Z'

interface Case {
  id?: string
  path?: string
  status?: number
  sent?: object
  body: object
  headers?: Record<string, string>
  told?: Record<string, string>
}

function toExchange({ id = 'getModel', path = `/v1/preview/models/${ID}`, ...more }: Case): Exchange {
  const operation = operationById(id)
  const { status = 200, sent, body, headers = {}, told = {} } = more
  return {
    ...{ operation, method: operation.method, url: BASE + path, status, violations: [], requestFaults: [] },
    ...{ requestHeaders: headers, requestBody: sent ? JSON.stringify(sent) : null },
    ...{ replyHeaders: told, replyBody: JSON.stringify(body) },
  }
}

const messages = (one: Case) =>
  [...findBreaches(toExchange(one)), ...createRequestIdJudge()(toExchange(one))].map(({ message }) => message)
const page = (data: object[], more: object = {}) => {
  const ids = data as { id: string }[]
  return { object: 'list', data, first_id: ids[0]?.id ?? '', last_id: ids.at(-1)?.id ?? '', has_more: false, ...more }
}
const models = '/v1/preview/models'
const list = (data: object[], query = '', more: object = {}): Case => ({
  id: 'listModels',
  path: `${models}?${query}`,
  body: page(data, more),
})
const chat = (body: object, sent: object = {}): Case => ({
  id: 'createChatCompletion',
  path: '/v1/chat/completions',
  sent,
  body: { choices: [{ index: 0 }], ...body },
})

const automation = (body: object, sent: object): Case => ({
  ...{ id: 'createAutomation', path: '/v1/preview/automations', body, sent },
})
const member = (body: object, sent: object): Case => ({
  ...{ id: 'putMember', path: '/v1/preview/teams/default/members/ann', body, sent },
})

const job = (status: string, training_start: unknown, training_end: unknown, error_message: unknown): Case => ({
  ...{ id: 'getTrainingJob', path: `/v1/preview/training-jobs/${ID}` },
  body: { id: ID, status, training_start, training_end, error_message },
})
const jobs = (data: object[], query = ''): Case => ({
  ...{ id: 'listTrainingJobs', path: `/v1/preview/training-jobs?${query}`, body: page(data) },
})
const unordered = [
  { id: ID, step: 1, created_at: LATER },
  { id: OTHER, step: 2, created_at: NOW },
]

test.each<[string, Case]>([
  ['a queued job', job('QUEUED', null, null, null)],
  ['a running job', job('RUNNING', NOW, null, null)],
  ['a completed job', job('COMPLETED', NOW, LATER, null)],
  ['a failed job', job('FAILED', NOW, LATER, 'No space left')],
  ['a job cancelled in the queue', job('CANCELLED', null, LATER, 'cancelled')],
  ['a job of a newer status', job('PAUSED', null, null, 'why')],
  [
    'checkpoints, which come by step',
    { id: 'listCheckpoints', path: `${models}/${ID}/checkpoints`, body: page(unordered) },
  ],
  ['jobs backwards', jobs(unordered, 'order=desc')],
  ['a record', { body: { id: ID, created_at: NOW, updated_at: NOW } }],
  ['an id in upper case', { path: `/v1/preview/models/${ID.toUpperCase()}`, body: { id: ID } }],
  [
    'a page',
    list(
      [
        { id: ID, created_at: NOW },
        { id: OTHER, created_at: LATER },
      ],
      'limit=2',
      { has_more: true },
    ),
  ],
  [
    'a page backwards',
    list(
      [
        { id: OTHER, created_at: LATER },
        { id: ID, created_at: NOW },
      ],
      'order=desc',
    ),
  ],
  ['an empty page', list([])],
  ['an error', { status: 403, body: { error: { type: 'permission_error' } } }],
  ['what the caller keeps', { body: { id: ID, metadata: { made_at: 'yesterday', job_id: ID.toUpperCase() } } }],
  ['a chat', chat({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } })],
  ['a request id', { headers: { 'x-request-id': 'a' }, told: { 'x-request-id': 'a' }, body: { id: ID } }],
  ['a record with further keys', automation({ event: { type: 'a', metric: null } }, { event: { type: 'a' } })],
  ['names in another order, each once', member({ project_admin: ['a', 'b'] }, { project_admin: ['b', 'a', 'b'] })],
  ['a request id that is not sane', { headers: { 'x-request-id': 'a b' }, told: { 'x-request-id': 'c' }, body: {} }],
])('takes no offence at %s', (_, one) => {
  expect(messages(one)).toEqual([])
})

test.each<[string, Case, RegExp]>([
  ['another id', { body: { id: OTHER } }, /the path says model_id/],
  ['another value', { id: 'createModel', path: models, sent: { name: 'a' }, body: { name: 'b' } }, /came back as "b"/],
  ['an item of another', list([{ id: ID, project: 'b' }], 'project=a'), /holds one with b/],
  ['too many items', list([{ id: ID }, { id: OTHER }], 'limit=1'), /page of 1 has 2/],
  ['an item twice', list([{ id: ID }, { id: ID }]), /twice/],
  ['a wrong first_id', list([{ id: ID }], '', { first_id: OTHER }), /first_id/],
  ['a wrong last_id', list([{ id: ID }], '', { last_id: OTHER }), /last_id/],
  ['the item of after', list([{ id: ID }], `after=${ID}`), /`after`/],
  ['more after a page that is not full', list([{ id: ID }], '', { has_more: true }), /more is to come/],
  [
    'the wrong order',
    list([
      { id: ID, created_at: LATER },
      { id: OTHER, created_at: NOW },
    ]),
    /oldest first/,
  ],
  [
    'the same order backwards',
    list(
      [
        { id: ID, created_at: NOW },
        { id: OTHER, created_at: LATER },
      ],
      'order=desc',
    ),
    /newest/,
  ],
  ['an id in upper case', { body: { id: ID, run_id: ID.toUpperCase() } }, /lower case/],
  ['an id of version 4', { body: { run_id: '01990c5e-3b6f-4c41-9d35-5a7d1e2f3b40' } }, /version 7/],
  ['a time without milliseconds', { body: { created_at: '2026-01-02T03:04:05Z' } }, /with milliseconds/],
  ['a time to come', { body: { created_at: '2999-01-02T03:04:05.000Z' } }, /still to come/],
  ['a change before the beginning', { body: { created_at: LATER, updated_at: NOW } }, /later than updated_at/],
  ['an end before the beginning', { body: { training_start: LATER, training_end: NOW } }, /later than training_end/],
  ['a start in the queue', job('QUEUED', NOW, null, null), /training_start of a QUEUED/],
  ['no start of a running job', job('RUNNING', null, null, null), /training_start of a RUNNING/],
  ['an end of a running job', job('RUNNING', NOW, LATER, null), /training_end of a RUNNING/],
  ['no end of a completed job', job('COMPLETED', NOW, null, null), /training_end of a COMPLETED/],
  ['an error of a completed job', job('COMPLETED', NOW, LATER, ''), /error_message of a COMPLETED job is ""/],
  ['no error of a failed job', job('FAILED', NOW, LATER, null), /error_message of a FAILED/],
  ['another error of a cancelled job', job('CANCELLED', null, LATER, 'Cancelled'), /is "Cancelled"/],
  ['a job in a list without its end', jobs([job('COMPLETED', NOW, null, null).body]), /training_end of a COMPLETED/],
  ['jobs in the wrong order', jobs(unordered), /oldest first/],
  ['a time of a point without a zone', { body: { metrics: { a: [{ time: '2026-01-02T03:04:05.006' }] } } }, /in UTC/],
  ['an error of another kind', { status: 403, body: { error: { type: 'not_found_error' } } }, /permission_error/],
  ['a wrong sum', chat({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 4 } }), /4 in all/],
  ['too few choices', chat({}, { n: 2 }), /indices of 2/],
  ['a time in milliseconds', chat({ created: Date.now() }), /in seconds/],
  ['another model', chat({ model: 'b' }, { model: 'a' }), /came back/],
  ['a payload with a key more', automation({ payload: { a: 1, b: null } }, { payload: { a: 1 } }), /payload was sent/],
  ['another threshold', automation({ event: { threshold: 2 } }, { event: { threshold: 1 } }), /event was sent/],
  ['a role less', member({ project_admin: ['a'] }, { project_admin: ['b', 'a'] }), /project_admin was sent/],
  ['another request id', { headers: { 'x-request-id': 'a' }, told: { 'x-request-id': 'b' }, body: {} }, /its reply b/],
])('finds %s', (_, one, message) => {
  expect(messages(one).join('\n')).toMatch(message)
})

test('finds secrets that were sent, and keys that were shown before', () => {
  const target: Target = {
    ...{ baseUrl: BASE, inferenceUrl: `${BASE}/v1`, apiKey: 'key-of-the-caller-0123', secondApiKey: null },
    ...{ basic: 'api:key-of-the-caller-0123', baseModel: 'm', isMock: false, jobTimeoutMs: 1, profile: 'full' },
    ...{ project: null, isReadOnly: false, given: NOTHING_GIVEN, mayTrain: true, mayRetry: true, receiver: null },
  }
  const find = createLeakFinder(target)
  const value = 'a-secret-value-0123456789'
  const path = '/v1/preview/teams/t/secrets/a'
  const put = (status: number, body: object) =>
    find(toExchange({ id: 'putSecret', path, status, sent: { value }, body }))
  expect(put(422, {})).toEqual([])
  expect(find(toExchange({ body: { id: value } }))).toEqual([])
  expect(put(200, { name: 'a' })).toEqual([])
  expect(find(toExchange({ body: { id: value } }))).toMatchObject([{ rule: 'leak' }])
  const key = 'a-new-key-0123456789abcdef'
  const create = { id: 'createApiKey', path: '/v1/preview/api-keys', body: { key } }
  expect(find(toExchange(create))).toEqual([])
  expect(find(toExchange({ body: { key } }))).toMatchObject([{ rule: 'leak' }])
  expect(find(toExchange({ body: {}, told: { 'x-a': target.apiKey } }))).toMatchObject([{ rule: 'leak' }])
})

test('a request id that an earlier reply had is no new one, but for the request that asks for it', () => {
  const judge = createRequestIdJudge()
  const reply = (told: string, headers: Record<string, string> = {}) =>
    judge(toExchange({ headers, told: { 'x-request-id': told }, body: {} })).map(({ message }) => message)
  expect([reply('a'), reply('b'), reply('a', { 'x-request-id': 'a' })]).toEqual([[], [], []])
  expect(reply('a')).toEqual(['the x-request-id a was given to an earlier request'])
})

const chunk = (choices: object[], more: object = {}) => ({ id: 'a', created: 1, model: 'm', choices, ...more })
const piece = (delta: object, finish_reason: string | null = null, index = 0) => ({ index, delta, finish_reason })
const ROLE = chunk([piece({ role: 'assistant', content: '' })])
const TEXT = chunk([piece({ content: 'hi' })])
const END = chunk([piece({}, 'stop')])
const USAGE = chunk([], { usage: {} })

test.each<[string, object[], RegExp | null]>([
  ['whole', [ROLE, TEXT, END, USAGE], null],
  ['of two choices', [ROLE, chunk([piece({ role: 'assistant' }, null, 1)]), END, chunk([piece({}, 'stop', 1)])], null],
  ['that fails midway', [ROLE, TEXT, { error: {} }], null],
  ['with the role twice', [ROLE, ROLE, TEXT, END], /begin with its role/],
  ['with text before the role', [TEXT, ROLE, END], /begin with its role/],
  ['with two ends', [ROLE, TEXT, END, END], /end with its finish_reason/],
  ['with text behind the end', [ROLE, END, TEXT], /end with its finish_reason/],
  ['without an end', [ROLE, TEXT], /end with its finish_reason/],
  ['with usage twice', [ROLE, END, USAGE, USAGE], /two chunks have no choices/],
  ['with usage too early', [ROLE, USAGE, END], /behind the one with no choices/],
  ['of two ids', [ROLE, { ...END, id: 'b' }], /id is not the same/],
])('judges a stream %s', (_, chunks, message) => {
  const exchange = toExchange({ id: 'createChatCompletion', path: '/v1/chat/completions', body: {} })
  const replyBody = [...chunks.map(one => JSON.stringify(one)), '[DONE]'].map(data => `data: ${data}\n\n`).join('')
  const replyHeaders = { 'content-type': 'text/event-stream; charset=utf-8' }
  const found = findBreaches({ ...exchange, replyHeaders, replyBody }).map(({ message }) => message)
  if (message === null) expect(found).toEqual([])
  else expect(found.join('\n')).toMatch(message)
})
