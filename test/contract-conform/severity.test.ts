import { describe, expect, it } from 'vitest'
import type { Check } from '../../src/contract/check.ts'
import type { Violation } from '../../src/contract/conform.ts'
import { validateResponse } from '../../src/contract/conform.ts'
import { isRefusal, isSuccess, originOf, severityOf, toProfile } from '../../src/contract/severity.ts'
import { operationById } from '../../src/spec/document.ts'

const CREATE_MODEL = '/paths/~1v1~1preview~1models/post'
const CHAT = '/paths/~1v1~1chat~1completions/post'
const REPLY = `${CHAT}/responses/200/content/application~1json/schema`

describe('the origin of a rule', () => {
  it.each([
    [CREATE_MODEL, 'interface'],
    ['/paths/~1v1~1preview~1models/get', 'extension'],
    ['/paths/~1v1~1preview~1models/get/responses/200', 'extension'],
    // Marked at the response, and at the schema that it refers to.
    [`${CREATE_MODEL}/responses/200/content/application~1json/schema/properties/id/format`, 'decision'],
    // A shared response, through the reference.
    [`${CREATE_MODEL}/responses/400/content/application~1json/schema`, 'decision'],
    [`${REPLY}/properties/choices/items/properties/index/type`, 'interface'],
    [`${REPLY}/properties/choices/items/properties/index`, 'interface'],
    // Marked at a property that is a reference.
    ['/components/schemas/TrainingJob/properties/status', 'decision'],
    ['/components/schemas/TrainingJob/properties/id/format', 'interface'],
    // Single limits, on the property and below it.
    ['/components/schemas/ChatCompletionRequest/properties/temperature/maximum', 'decision'],
    ['/components/schemas/ChatCompletionRequest/properties/temperature/type', 'interface'],
    ['/components/schemas/ChatCompletionRequest/properties/seed/maximum', 'interface'],
    ['/components/schemas/CreateRlTrainingJobRequest/required', 'decision'],
    ['/components/schemas/ChatCompletionRequest/required', 'interface'],
    // What only operations of ours use.
    ['/components/schemas/ArtifactVersion/properties/version', 'extension'],
    // Chunks are of the interface nowhere: their events are a decision.
    ['/components/schemas/ChatCompletionChunk', 'decision'],
    // Prose.
    [`${CREATE_MODEL}/description`, 'decision'],
    ['/info/description#Errors', 'decision'],
    ['/webhooks/automationDelivery/post/requestBody', 'interface'],
  ])('%s is %s', (pointer, origin) => expect(originOf(pointer)).toBe(origin))
})

describe('what a reply breaks', () => {
  const judge = (
    id: string,
    body: unknown,
    status = 200,
    headers: Record<string, string> = { 'x-request-id': 'a' },
  ) => {
    const reply = { status, headers, contentType: 'application/json', bodyText: JSON.stringify(body) }
    return validateResponse(operationById(id), reply).map(
      violation =>
        `${severityOf(violation, 'interface')} ${violation.missing ?? violation.undeclared ?? violation.rule}`,
    )
  }
  const job = {
    ...{
      id: '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40',
      status: 'QUEUED',
      model_id: '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40',
    },
    ...{ type: 'rl', training_start: null, training_end: null, error_message: null },
    created_at: '2026-11-21T10:15:30.127Z',
  }

  it.each([
    ['nothing', job, []],
    ['the id of a job', { ...job, id: undefined }, ['fail id']],
    ['the form of the id', { ...job, id: 'job-1' }, ['fail schema']],
    ['what we added to a job', { id: job.id }, expect.arrayContaining(['warn status', 'warn created_at'])],
    ['a property that nobody declares', { ...job, priority: 1 }, ['warn priority']],
  ])('is weighed: %s', (_, body, found) => expect(judge('createRlTrainingJob', body)).toEqual(found))

  it('is weighed: statuses and the request id, which the interface does not name', () => {
    expect(judge('createRlTrainingJob', job, 201, {})).toEqual(['warn status-declared', 'warn header'])
    expect(judge('createRlTrainingJob', {}, 201)).toContain('fail id')
  })

  it('is weighed: what the description of the interface does not call required', () => {
    const choice = { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }
    const severities = judge('createChatCompletion', { model: 'm', choices: [choice] })
    expect(severities).toEqual(expect.arrayContaining(['fail usage', 'warn token_ids', 'warn refusal']))
    expect(severities.filter(one => one.startsWith('fail'))).toEqual(['fail usage'])
  })

  it('weighs all in the full profile, nothing of an extension in the other, and a leak in both', () => {
    const violation: Violation = {
      rule: 'status-declared',
      message: '',
      pointer: `${CREATE_MODEL}/responses`,
      instancePath: '',
    }
    const ours = { ...violation, pointer: `${operationById('listModels').pointer}/responses` }
    const leak = { ...violation, rule: 'leak' as const, pointer: '/info/description#Authentication' }
    expect([violation, ours, leak].map(one => severityOf(one, 'full'))).toEqual(['fail', 'fail', 'fail'])
    expect([violation, ours, leak].map(one => severityOf(one, 'interface'))).toEqual(['warn', 'none', 'fail'])
  })
})

describe('a check', () => {
  const toCheck = (id: string, source: string): Check => ({ id, source, level: 'MUST' }) as Check

  it('is as strong as the rule that it comes from', () => {
    expect(toProfile(toCheck('getHealth/a', '/paths/~1v1~1health/get/security'), 'interface')).toEqual({
      level: 'MUST',
      disabled: null,
    })
    expect(toProfile(toCheck('getHealth/a', '/info/description#Errors'), 'interface').level).toBe('SHOULD')
    expect(toProfile(toCheck('getHealth/a', '/info/description#Errors'), 'full').level).toBe('MUST')
  })

  it('of an extension is left out, whatever it comes from', () => {
    expect(toProfile(toCheck('listModels/a', '/info/description#Lists'), 'interface').disabled).not.toBeNull()
    expect(toProfile(toCheck('lists/a', '/paths/~1v1~1preview~1models/get'), 'interface').disabled).not.toBeNull()
    expect(toProfile(toCheck('listModels/a', '/info/description#Lists'), 'full').disabled).toBeNull()
  })
})

describe('statuses', () => {
  it('are exact in the full profile, and of one class in the other', () => {
    expect([200, 201, 302].map(status => isSuccess(status, 'full'))).toEqual([true, false, false])
    expect([200, 201, 302].map(status => isSuccess(status, 'interface'))).toEqual([true, true, false])
    expect([422, 400, 500].map(status => isRefusal(status, 422, 'full'))).toEqual([true, false, false])
    expect([422, 400, 500].map(status => isRefusal(status, 422, 'interface'))).toEqual([true, true, false])
  })
})
