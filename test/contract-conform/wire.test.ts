import { describe, expect, it } from 'vitest'
import { checkLexemes } from '../../src/contract/check-lexemes.ts'
import { validateResponse } from '../../src/contract/conform.ts'
import { checkWire } from '../../src/contract/wire.ts'
import { toOperations } from '../../src/spec/document.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' }

function rulesOf(more: { method?: string; status?: number; headers?: Record<string, string>; bytes?: Uint8Array }) {
  const reply = { method: 'GET', status: 200, headers: JSON_HEADERS, bytes: encode('{}'), ...more }
  return checkWire(reply).map(({ rule }) => rule)
}

describe('a reply on the wire', () => {
  it.each([
    ['in UTF-8', {}],
    ['without a charset', { headers: { 'content-type': 'application/json' } }],
    ['with its length', { headers: { ...JSON_HEADERS, 'content-length': '2' } }],
    [
      'compressed, whose length is another one',
      { headers: { ...JSON_HEADERS, 'content-length': '9', 'content-encoding': 'gzip' } },
    ],
    ['to HEAD', { method: 'HEAD', headers: { ...JSON_HEADERS, 'content-length': '200' }, bytes: encode('') }],
    [
      'in bytes of any kind',
      { headers: { 'content-type': 'application/octet-stream' }, bytes: new Uint8Array([0xff]) },
    ],
    [
      'as a stream with a byte order mark',
      { headers: { 'content-type': 'text/event-stream' }, bytes: new Uint8Array([0xef, 0xbb, 0xbf]) },
    ],
  ])('%s is right', (_, more) => expect(rulesOf(more)).toEqual([]))

  it.each([
    ['in another charset', { headers: { 'content-type': 'application/json; charset=iso-8859-1' } }, ['encoding']],
    ['that is not UTF-8', { bytes: new Uint8Array([0x22, 0xe9, 0x22]) }, ['encoding']],
    ['with a byte order mark', { bytes: new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d]) }, ['encoding']],
    ['of another length', { headers: { ...JSON_HEADERS, 'content-length': '3' } }, ['header-syntax']],
    ['with a malformed header', { headers: { ...JSON_HEADERS, date: 'today' } }, ['header-syntax']],
    ['to HEAD with a body', { method: 'HEAD' }, ['no-body']],
    ['of 204 with a body', { status: 204 }, ['no-body']],
  ])('%s is wrong', (_, more, rules) => expect(rulesOf(more)).toEqual(rules))
})

describe('integers and keys of a reply', () => {
  const schema = {
    type: 'object',
    properties: {
      n: { type: 'integer' },
      x: { type: 'number' },
      list: { type: 'array', items: { oneOf: [{ type: 'integer' }, { type: 'null' }] } },
    },
  }
  const content = { 'application/json': { schema } }
  const [operation] = toOperations({
    paths: { '/x': { get: { operationId: 'getX', responses: { 200: { content } } } } },
  })
  const rulesOf = (bodyText: string) =>
    validateResponse(operation!, { status: 200, headers: {}, contentType: 'application/json', bodyText }).map(
      ({ rule, instancePath }) => `${rule} ${instancePath}`,
    )

  it.each([
    ['{"n":1,"x":1.0,"list":[1,null]}', []],
    ['{"n":9223372036854775807,"x":-0.0}', []],
    ['{"n":1.0}', ['number /n']],
    ['{"n":1e3}', ['number /n']],
    ['{"n":-0}', ['number /n']],
    ['{"n":9223372036854775808}', ['number /n']],
    ['{"n":-9223372036854775809}', ['number /n']],
    ['{"list":[2.0]}', ['number /list/0']],
    ['{"x":1,"x":1}', ['duplicate-key /x']],
    ['{"n":NaN}', ['json ']],
    ['{"n":1.5}', ['schema /n']],
  ])('%s has the faults %j', (text, found) => expect(rulesOf(text)).toEqual(found))

  it('are told with the section of the contract that they break', () => {
    expect(checkLexemes('{"a":1,"a":1}', { a: 1 }, () => [])).toMatchObject([
      { pointer: '/info/description#On the wire' },
    ])
  })
})
