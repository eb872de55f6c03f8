import { describe, expect, it } from 'vitest'
import { validateErrorBody, validateResponse } from '../../src/contract/conform.ts'
import { operationById, operations, toOperations } from '../../src/spec/document.ts'

const document = {
  paths: {
    '/x': {
      get: {
        operationId: 'getX',
        responses: {
          200: {
            headers: {
              'X-Count': { required: true, schema: { type: 'integer', minimum: 0 } },
              'X-Free': { schema: { type: 'string' } },
            },
            content: {
              'application/json': { schema: { $ref: '#/components/schemas/Thing' } },
              'text/event-stream': { schema: { type: 'string' }, itemSchema: { $ref: '#/components/schemas/Part' } },
              'application/octet-stream': {},
            },
          },
          204: { description: 'Nothing' },
        },
      },
    },
  },
  components: {
    schemas: {
      Base: { type: 'object', required: ['id'], properties: { id: { type: 'string', format: 'uuid' } } },
      Thing: {
        type: 'object',
        required: ['base', 'list', 'free'],
        properties: {
          base: {
            allOf: [
              { $ref: '#/components/schemas/Base' },
              { type: 'object', properties: { more: { type: 'integer' } } },
            ],
          },
          list: { type: 'array', items: { oneOf: [{ $ref: '#/components/schemas/Part' }, { type: 'null' }] } },
          free: { type: 'object' },
          open: { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
        },
      },
      Part: {
        type: 'object',
        required: ['type'],
        properties: { type: { type: 'string', const: 'part' }, n: { type: 'integer' } },
      },
    },
  },
}
const operation = toOperations(document)[0]!
const ID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'
const good = { base: { id: ID, more: 1 }, list: [{ type: 'part' }, null], free: { any: 1 }, open: { a: '', b: 1 } }

function judge(body: unknown, more: { status?: number; type?: string | null; headers?: Record<string, string> } = {}) {
  const bodyText = typeof body === 'string' ? body : JSON.stringify(body)
  const headers = more.headers ?? { 'x-count': '3' }
  const contentType = more.type === undefined ? 'application/json; charset=utf-8' : more.type
  const violations = validateResponse(operation, { status: more.status ?? 200, headers, contentType, bodyText })
  return violations.map(violation => `${violation.rule} ${violation.instancePath}`.trim())
}

describe('a reply', () => {
  it('as declared has no violation', () => expect(judge(good)).toEqual([]))

  it.each([
    ['an undeclared status', good, { status: 201 }, ['status-declared']],
    ['an undeclared content type', good, { type: 'text/html' }, ['content-type']],
    ['no content type', good, { type: null }, ['content-type']],
    ['a missing header', good, { headers: {} }, ['header']],
    ['a header of the wrong type', good, { headers: { 'x-count': 'three' } }, ['header']],
    ['text that is not JSON', '{', {}, ['json']],
    ['an empty body', '', {}, ['json']],
    ['a body where none is declared', good, { status: 204 }, ['content-type']],
  ])('with %s is a violation', (_, body, more, rules) => expect(judge(body, more)).toEqual(rules))

  it.each([
    ['a missing property', { ...good, free: undefined }, ['schema']],
    ['a property that is not declared', { ...good, extra: 1 }, ['schema']],
    ['one deep in a composed object', { ...good, base: { id: ID, extra: 1 } }, ['schema /base']],
    ['one in a branch of a union', { ...good, list: [{ type: 'part', extra: 1 }] }, ['schema /list/0']],
    ['a wrong format', { ...good, base: { id: 'x' } }, ['schema /base/id']],
    ['a wrong type in a branch', { ...good, list: [{ type: 'part', n: 'x' }] }, ['schema /list/0/n']],
  ])('with %s is a violation at its place', (_, body, found) => expect(judge(body)).toEqual(found))

  it('names the part of the contract that is broken', () => {
    const at = '/paths/~1x/get/responses/200/content/application~1json/schema'
    const pointerOf = (body: unknown) =>
      validateResponse(operation, {
        status: 200,
        headers: { 'x-count': '1' },
        contentType: 'application/json',
        bodyText: JSON.stringify(body),
      })[0]
    expect(pointerOf({})).toMatchObject({ pointer: `${at}/required`, missing: 'base' })
    expect(pointerOf({ ...good, extra: 1 })).toMatchObject({ pointer: at, undeclared: 'extra' })
    expect(pointerOf({ ...good, base: { id: 'x' } })!.pointer).toBe(
      `${at}/properties/base/allOf/0/properties/id/format`,
    )
    expect(pointerOf({ ...good, list: [null, { type: 'part', n: 'x' }] })!.pointer).toBe(
      `${at}/properties/list/items/oneOf/0/properties/n/type`,
    )
  })

  it('of another status of success has its body judged as well', () => {
    expect(judge({ ...good, free: undefined }, { status: 201 })).toEqual(['status-declared', 'schema'])
  })

  it('in bytes is taken as it is', () => expect(judge('\u0000', { type: 'application/octet-stream' })).toEqual([]))
})

describe('a stream', () => {
  const frame = (data: unknown) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
  const judgeStream = (text: string) => judge(text, { type: 'text/event-stream' })
  const part = { type: 'part', n: 1 }

  it('of declared events with [DONE] at the end has no violation', () => {
    expect(judgeStream(`: comment\n\n${frame(part)}${frame(part)}${frame('[DONE]')}`)).toEqual([])
  })

  it.each([
    ['no [DONE]', frame(part), ['done']],
    ['[DONE] twice', frame('[DONE]') + frame('[DONE]'), ['done /0']],
    ['an event after [DONE]', frame('[DONE]') + frame(part), ['done', 'done /0']],
    ['a wrong event', frame({ type: 'part', n: '1' }) + frame('[DONE]'), ['event-schema /0/n']],
    ['an undeclared property', frame({ ...part, x: 1 }) + frame('[DONE]'), ['event-schema /0']],
    ['an event that is not JSON', frame('{') + frame('[DONE]'), ['event-stream /0']],
    ['a cut end', `${frame(part)}data: [DONE]`, ['event-stream', 'done']],
    ['nothing in it', '', ['done']],
  ])('with %s is a violation', (_, text, found) => expect(judgeStream(text)).toEqual(found))
})

describe('the contract', () => {
  it('compiles for replies with closed objects, every status of every operation', () => {
    for (const { operationId, responses } of operations) {
      for (const status of responses.keys()) {
        for (const contentType of responses.get(status)!.contentTypes) {
          const reply = { status: Number(status), headers: {}, contentType, bodyText: 'data: {}\n\n' }
          expect(() => validateResponse(operationById(operationId), reply), `${operationId} ${status}`).not.toThrow()
        }
      }
    }
  })

  it('knows the form of an error that belongs to no operation', () => {
    const error = { message: 'No', type: 'not_found_error', param: null, code: 'not_found' }
    const { components } = operations[0]!
    expect(validateErrorBody(components, JSON.stringify({ detail: 'No', error }))).toEqual([])
    expect(validateErrorBody(components, JSON.stringify({ detail: 'No' }))).toMatchObject([{ rule: 'schema' }])
  })
})
