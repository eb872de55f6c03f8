import { describe, expect, it } from 'vitest'
import { toBadBodies, toBadParameters } from '../../src/contract/bad-requests.ts'
import { toOperations } from '../../src/spec/document.ts'
import { validateRequest } from '../../src/spec/validate.ts'

const ID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'
const schema = {
  type: 'object',
  required: ['id', 'items'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    rate: { type: ['number', 'null'], minimum: 0, maximum: 1 },
    seed: { type: 'integer', minimum: -9223372036854776000, maximum: 9223372036854776000 },
    day: { type: 'string', format: 'date' },
    name: { type: 'string', minLength: 1, maxLength: 3 },
    kind: { type: 'string', enum: ['a', 'b'] },
    items: { type: 'array', items: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
    either: { oneOf: [{ type: 'string' }, { type: 'null' }] },
  },
}
const parameters = [
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
  { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
  { name: 'entity', in: 'path', required: true, schema: { type: 'string', maxLength: 3 } },
  { name: 'Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 3 } },
]
const requestBody = { required: true, content: { 'application/json': { schema } } }
const operation = toOperations({
  paths: { '/x': { post: { operationId: 'post', parameters, requestBody, responses: {} } } },
})[0]!
const good = { id: ID, items: [{ n: 1 }, { n: 2 }], rate: 0.5 }
const input = { path: { id: ID, entity: 'e' }, query: {}, headers: {}, body: good }

describe('bad bodies', () => {
  const bad = toBadBodies(operation, good)

  it('come from a good one', () => expect(validateRequest(operation, input).ok).toBe(true))

  it('break each rule once', () => {
    expect(bad.map(({ name }) => name)).toEqual([
      'the body of another type',
      'the body null',
      'id removed',
      'items removed',
      'id of another type',
      'id null',
      'id not a UUID',
      'rate of another type',
      'rate below its minimum',
      'rate above its maximum',
      'seed of another type',
      'seed with a fraction',
      'seed null',
      'seed below its minimum',
      'seed above its maximum',
      'day of another type',
      'day null',
      'day not a day',
      'name of another type',
      'name null',
      'name too short',
      'name too long',
      'kind of another type',
      'kind null',
      'kind not one of its values',
      'items of another type',
      'items null',
      'items.0 of another type',
      'items.0 null',
      'items.0.n removed',
      'items.0.n of another type',
      'items.0.n with a fraction',
      'items.0.n null',
    ])
  })

  it.each(bad.map(one => [one.name, one] as const))(
    '%s is found by validation, where it is and nowhere else',
    (_, { body, loc }) => {
      const result = validateRequest(operation, { ...input, body })
      expect(result.ok ? [] : result.detail.map(detail => detail.loc)).toEqual([loc])
    },
  )
})

describe('bad parameters', () => {
  const bad = toBadParameters(operation)

  it('leave team names to authorization and empty path parameters to routing', () => {
    expect(bad.map(({ name }) => name)).toEqual([
      'limit with a fraction',
      'limit below its minimum',
      'limit above its maximum',
      'limit not a number',
      'id not a UUID',
      'key too long',
    ])
  })

  it.each(bad.map(one => [one.name, one] as const))(
    '%s is found by validation',
    (_, { in: place, parameter, value }) => {
      const key = place === 'header' ? 'headers' : place
      const result = validateRequest(operation, { ...input, [key]: { ...input[key], [parameter]: value } })
      expect(result.ok ? [] : result.detail.map(detail => detail.loc)).toEqual([[place, parameter]])
    },
  )
})
