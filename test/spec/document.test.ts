import { describe, expect, it } from 'vitest'
import { operationById, operations, toOperations } from '../../src/spec/document.ts'

const document = {
  openapi: '3.2.0',
  security: [{ bearerAuth: [] }],
  paths: {
    '/v1/things/{thing_id}': {
      parameters: [{ $ref: '#/components/parameters/ThingId' }],
      get: { operationId: 'getThing', tags: ['Things'], responses: { 200: { $ref: '#/components/responses/Thing' } } },
      put: {
        operationId: 'putThing',
        'x-origin': 'extension',
        security: [{ bearerAuth: [] }, { basicAuth: [] }],
        parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
        },
        responses: { 200: { $ref: '#/components/responses/Thing' }, default: { description: 'A fault' } },
      },
    },
    '/v1/health': { get: { operationId: 'getHealth', security: [], responses: {} } },
  },
  components: {
    securitySchemes: { bearerAuth: { type: 'http', scheme: 'Bearer' }, basicAuth: { type: 'http', scheme: 'basic' } },
    parameters: {
      ThingId: { name: 'thing_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
    },
    headers: { RequestId: { required: true, schema: { type: 'string' } } },
    responses: {
      Thing: {
        headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
        content: {
          'application/json': { schema: { $ref: '#/components/schemas/Thing' } },
          'text/event-stream': { schema: { type: 'string' }, itemSchema: { $ref: '#/components/schemas/Thing' } },
        },
      },
    },
    schemas: { Thing: { type: 'object' } },
  },
}

describe('operations of a document', () => {
  const [getThing, putThing, getHealth] = toOperations(document)

  it('join the parameters of path and operation, header names in lower case', () => {
    expect(
      putThing!.parameters.map(({ name, in: place, required, style, explode }) => [
        name,
        place,
        required,
        style,
        explode,
      ]),
    ).toEqual([
      ['thing_id', 'path', true, 'simple', false],
      ['idempotency-key', 'header', false, 'simple', false],
    ])
  })

  it('take their security from themselves, else from the document; an empty list is public', () => {
    expect(getThing!.security).toEqual(['bearer'])
    expect(putThing!.security).toEqual(['bearer', 'basic'])
    expect(getHealth!.security).toEqual([])
  })

  it('have responses by status with references resolved', () => {
    const response = getThing!.responses.get(200)!
    expect(response.contentTypes).toEqual(['application/json', 'text/event-stream'])
    expect(response.headers.get('x-request-id')).toEqual({ required: true, schema: { type: 'string' } })
    expect(response.itemSchema).toEqual({ $ref: '#/components/schemas/Thing' })
    expect([...putThing!.responses.keys()]).toEqual([200, 'default'])
  })

  it('say what body they take', () => {
    expect(getThing!.requestBody).toBeNull()
    expect(putThing!.requestBody).toMatchObject({ required: true, contentTypes: ['application/json'] })
    expect(putThing!.origin).toBe('extension')
    expect(putThing!.pointer).toBe('/paths/~1v1~1things~1{thing_id}/put')
  })

  it('refuse a reference to nothing', () => {
    const broken = {
      paths: { '/x': { get: { operationId: 'x', responses: { 200: { $ref: '#/components/responses/No' } } } } },
    }
    expect(() => toOperations(broken)).toThrow('#/components/responses/No')
  })
})

describe('the contract', () => {
  it('has unique operation ids, each with a tag, an origin and a 200', () => {
    const ids = operations.map(operation => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const operation of operations) {
      expect(operation.tag, operation.operationId).not.toBe('')
      expect(['interface', 'extension'], operation.operationId).toContain(operation.origin)
      expect(operation.responses.has(200), operation.operationId).toBe(true)
    }
  })

  it('finds an operation by its id and refuses an unknown one', () => {
    expect(operationById('createModel')).toMatchObject({
      method: 'POST',
      path: '/v1/preview/models',
      security: ['bearer'],
    })
    expect(() => operationById('createNothing')).toThrow('createNothing')
  })
})
