import { describe, expect, it } from 'vitest'
import type { Exchange } from '../../src/contract/conforming-fetch.ts'
import { createCoverage, findMissing } from '../../src/contract/coverage.ts'
import { toCoverageTable, toFindingLines } from '../../src/contract/report.ts'
import { toOperations } from '../../src/spec/document.ts'

const operations = toOperations({
  paths: {
    '/x': {
      get: { operationId: 'getX', responses: { 200: {}, 404: {} } },
      post: { operationId: 'createX', responses: { 200: {}, 422: {}, 500: {} } },
    },
  },
})
const [getX, createX] = operations
const violation = { rule: 'schema' as const, message: 'is wrong', pointer: '/p', instancePath: '/a' }

function exchange(operation: Exchange['operation'], status: number, more: Partial<Exchange> = {}): Exchange {
  return {
    operation,
    method: 'GET',
    url: 'http://h/y',
    status,
    violations: [],
    requestFaults: [],
    requestHeaders: {},
    requestBody: null,
    replyHeaders: {},
    replyBody: '',
    ...more,
  }
}

describe('coverage', () => {
  const coverage = createCoverage()
  coverage.record(exchange(getX!, 200))
  coverage.record(exchange(getX!, 200, { violations: [violation] }))
  coverage.record(exchange(getX!, 200, { violations: [violation] }))
  coverage.record(exchange(createX!, 422))
  coverage.record(exchange(null, 404, { violations: [violation] }))

  it('counts requests by operation and status', () =>
    expect(coverage.counts).toEqual({ getX: { 200: 3 }, createX: { 422: 1 } }))

  it('names what is missing, exceptions left out', () => {
    expect(findMissing(operations, coverage, () => false)).toEqual(['getX 404', 'createX 200', 'createX 500'])
    expect(findMissing(operations, coverage, (_, status) => status === 500)).toEqual(['getX 404', 'createX 200'])
  })

  it('is shown as a table with a sum', () => {
    expect(toCoverageTable(operations, coverage)).toBe(
      [
        'operation  200  404  422  500',
        'getX         3    -',
        'createX      -         1    -',
        '2 of 2 operations, 2 of 5 declared statuses exercised',
      ].join('\n'),
    )
  })

  it('names each finding once, by operation and rule', () => {
    expect(toFindingLines(coverage.findings)).toEqual([
      'getX/schema (200) at /a: is wrong [/p], 2 times',
      'GET /y/schema (404) at /a: is wrong [/p]',
    ])
  })
})
