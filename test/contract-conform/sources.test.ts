import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Check, collectChecks } from '../../src/contract/check.ts'
import { toSpecLine } from '../../src/contract/spec-line.ts'
import { NOTHING_GIVEN, type Target } from '../../src/contract/target.ts'
import { isStatement } from '../../src/spec/pointer.ts'
import { configure } from '../contract/setup.ts'
import '../contract/contract-files.ts'

const root = join(import.meta.dirname, '../..')
const target: Target = {
  ...{ baseUrl: 'http://h', inferenceUrl: 'http://h/v1', apiKey: 'k', secondApiKey: 'l', basic: 'api:k' },
  ...{ baseModel: 'm', isMock: false, jobTimeoutMs: 1, profile: 'full', project: null, isReadOnly: false },
  ...{ given: NOTHING_GIVEN, mayTrain: true, mayRetry: true, receiver: null },
}

/** What stands at `<file>:<line>`. */
function readLine(place: string): string {
  const { 1: file, 2: line } = /^(.+):(\d+)$/.exec(place)!
  return readFileSync(join(root, file!), 'utf8').split('\n')[Number(line) - 1]!
}

describe('the source of every check', () => {
  let checks: Check[]
  beforeAll(() => {
    configure(target)
    checks = collectChecks()
  })

  it('is a statement of the contract', () => {
    expect(checks.length).toBeGreaterThan(100)
    expect(checks.filter(({ source }) => !isStatement(source)).map(({ id, source }) => `${id}: ${source}`)).toEqual([])
  })

  it('leads to a line in the folder of the contract', () => {
    const lost = checks.filter(({ source }) => !/^spec\/.+\.yaml:\d+$/.test(toSpecLine(source)))
    expect(lost.map(({ id }) => id)).toEqual([])
  })
})

describe('a statement', () => {
  it.each([
    ['/paths/~1v1~1health/get', true],
    ['/paths/~1v1~1health/get/no-such-part', false],
    ['/paths/~1v1~1preview~1models/post/responses/400/description', true],
    ['/info/description#Errors', true],
    ['/info/description#No such heading', false],
    ['/paths/~1v1~1chat~1completions/post/description#The stream', true],
    ['/components/schemas/Model/properties/id/format', true],
    ['/components/schemas/No/properties/id', false],
    ['', true],
  ])('%s is there: %s', (source, isThere) => expect(isStatement(source)).toBe(isThere))
})

describe('the line of a rule', () => {
  it.each([
    ['/paths/~1v1~1preview~1models/post', /^spec\/paths\/models\/models\.yaml:/, /^post:/],
    ['/paths/~1v1~1preview~1models/post/description', /models\.yaml:/, /^ {2}description:/],
    ['/components/schemas/Model/properties/id/format', /^spec\/schemas\/Model\.yaml:/, /^ {4}format: uuid/],
    ['/info/description#Errors', /^spec\/openapi\.yaml:/, /^ {4}## Errors$/],
    [
      '/paths/~1v1~1chat~1completions/post/description#The stream',
      /chat\/completions\.yaml:/,
      /^ {4}\*\*The stream\.\*\*/,
    ],
    // Through references, into the file that holds the rule.
    [
      '/paths/~1v1~1preview~1models/post/responses/200/content/application~1json/schema/properties/name/type',
      /^spec\/schemas\/Model\.yaml:/,
      /^ {4}type: string/,
    ],
    // Of what does not exist, the nearest part around it.
    ['/components/schemas/Model/properties/id/no/such/part', /^spec\/schemas\/Model\.yaml:/, /^ {2}id:$/],
  ])('%s', (pointer, place, text) => {
    expect(toSpecLine(pointer)).toMatch(place)
    expect(readLine(toSpecLine(pointer))).toMatch(text)
  })
})
