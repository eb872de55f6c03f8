import { describe, expect, it } from 'vitest'
import { findHeaderFaults } from '../../src/contract/header-syntax.ts'

const faultsOf = (name: string, value: string) => findHeaderFaults({ [name]: value }).map(fault => fault.name)

describe('header fields', () => {
  it.each([
    ['date', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['content-type', 'application/json'],
    ['content-type', 'multipart/form-data; boundary="a b"; charset=utf-8'],
    ['content-length', '0'],
    ['allow', 'GET, HEAD,POST'],
    ['allow', ''],
    ['vary', '*'],
    ['vary', 'Origin, Accept-Encoding'],
    ['retry-after', '2'],
    ['retry-after', 'Sun, 06 Nov 1994 08:49:37 GMT'],
    ['www-authenticate', 'Bearer'],
    ['www-authenticate', 'Bearer realm="trainyard"'],
    ['www-authenticate', 'Basic realm="a, \\"b\\"", charset="UTF-8", Bearer realm=x, error="e"'],
    ['www-authenticate', 'Negotiate YWJj=='],
    ['etag', '"abc"'],
    ['etag', 'W/""'],
    ['location', '/a/b?c=%20'],
    ['cache-control', 'no-cache, max-age=0, private="x"'],
    ['content-range', 'bytes 0-4/93'],
    ['content-range', 'bytes */93'],
    ['x-unknown', '\u0001'],
  ])('%s: %s is right', (name, value) => expect(faultsOf(name, value)).toEqual([]))

  it.each([
    ['date', '2026-01-02T03:04:05Z'],
    ['date', 'Sunday, 06-Nov-94 08:49:37 GMT'],
    ['date', 'Mon, 06 Nov 1994 08:49:37 GMT'],
    ['date', 'Sun, 06 Nov 1994 25:49:37 GMT'],
    ['content-type', 'application/json, application/json'],
    ['content-type', 'json'],
    ['content-type', 'application/json; charset'],
    ['content-length', '5, 5'],
    ['content-length', '-1'],
    ['allow', 'GET POST'],
    ['allow', '[GET, POST]'],
    ['retry-after', '1.5'],
    ['retry-after', 'soon'],
    ['retry-after', '-1'],
    ['www-authenticate', ''],
    ['www-authenticate', 'Bearer realm="open'],
    ['www-authenticate', 'realm="x"'],
    ['etag', 'abc'],
    ['location', 'http://a/ b'],
    ['cache-control', 'no cache'],
    ['content-range', '0-4/93'],
  ])('%s: %s is wrong', (name, value) => expect(faultsOf(name, value)).toEqual([name]))
})
