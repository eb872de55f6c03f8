import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runRedocly } from '../../src/generate/redocly.ts'

/** A path file that breaks no rule. */
const SOUND = `
post:
  operationId: createThing
  summary: Create a thing
  description: Makes a thing, and answers with it.
  tags: [Things]
  x-origin: extension
  security:
    - bearerAuth: []
  requestBody:
    required: true
    content:
      application/json:
        schema:
          type: object
          properties:
            name: {type: string, description: Name of the thing.}
        examples: {default: {$ref: example.yaml}}
  responses:
    '200':
      description: The thing.
      headers: {x-request-id: {$ref: header.yaml}}
      content:
        application/json:
          schema:
            type: object
            additionalProperties: false
            required: [name]
            properties:
              name: {type: string, description: The name.}
          examples: {default: {$ref: example.yaml}}
    '401': &failure
      description: It failed.
      headers: {x-request-id: {$ref: header.yaml}}
    '413': *failure
    '415': *failure
    '422': *failure
    '429': *failure
    '500': *failure
    '503': *failure
`

const INDEX = `
openapi: 3.2.0
info: {title: Things, version: 1.0.0, license: {name: MIT, identifier: MIT}}
servers: [{url: http://127.0.0.1:8080}]
tags: [{name: Things, description: Things.}]
paths: {/things: {$ref: path.yaml}}
components:
  securitySchemes:
    bearerAuth: {$ref: scheme.yaml}
`

const SHARED = {
  'example.yaml': 'summary: A thing\nvalue: {name: cup}\n',
  'header.yaml': 'description: Id of the exchange.\nschema: {type: string}\n',
  'scheme.yaml': 'type: http\nscheme: bearer\n',
}

interface Break {
  rule: string
  message: string
  /** Text to replace, and by what; in the path file unless `in` names another. */
  from: string
  to: string
  in?: 'openapi.yaml' | 'example.yaml'
}

const BREAKS: Record<string, Break> = {
  'a path written out in the index': {
    rule: 'trainyard/index-only-refs',
    message: 'The index holds only $refs: move /other to a file under spec/.',
    in: 'openapi.yaml',
    from: '/things: {$ref: path.yaml}',
    to: '/things: {$ref: path.yaml}, /other: {description: Nothing here.}',
  },
  'a security scheme written out in the index': {
    rule: 'trainyard/index-only-refs',
    message: 'The index holds only $refs: move bearerAuth to a file under spec/.',
    in: 'openapi.yaml',
    from: '{$ref: scheme.yaml}',
    to: '{type: http, scheme: bearer}',
  },
  'a verb that is not on the list': {
    rule: 'trainyard/operation-id-verb',
    message: 'operationId makeThing must begin with one of: get, list, create,',
    from: 'operationId: createThing\n  summary: Create',
    to: 'operationId: makeThing\n  summary: Make',
  },
  'a verb of another method': {
    rule: 'trainyard/operation-id-verb',
    message: 'The verb update goes with patch, not with post.',
    from: 'operationId: createThing\n  summary: Create',
    to: 'operationId: updateThing\n  summary: Update',
  },
  'a summary in title case': {
    rule: 'trainyard/operation-summary-style',
    message: 'A summary is in sentence case',
    from: 'Create a thing',
    to: 'Create a Thing',
  },
  'a summary with a full stop': {
    rule: 'trainyard/operation-summary-style',
    message: 'A summary is in sentence case',
    from: 'Create a thing',
    to: 'Create a thing.',
  },
  'a summary with another verb': {
    rule: 'trainyard/operation-summary-style',
    message: 'The summary begins with the verb create.',
    from: 'Create a thing',
    to: 'Make a thing',
  },
  'an operation without x-origin': {
    rule: 'trainyard/operation-origin',
    message: 'An operation has x-origin: interface or extension.',
    from: '  x-origin: extension\n',
    to: '',
  },
  'an operation that anyone may call': {
    rule: 'trainyard/operation-security',
    message: 'An operation declares its security and 401, or is public by name (getHealth,',
    from: 'security:\n    - bearerAuth: []',
    to: 'security: []',
  },
  'an operation whose credentials are optional': {
    rule: 'trainyard/operation-security',
    message: 'An operation declares its security and 401, or is public by name',
    from: '- bearerAuth: []',
    to: '- bearerAuth: []\n    - {}',
  },
  'an operation without 401': {
    rule: 'trainyard/operation-security',
    message: 'An operation declares its security and 401, or is public by name',
    from: "'401'",
    to: "'403'",
  },
  'a body without 415': {
    rule: 'trainyard/operation-statuses',
    message: 'Not declared: 415.',
    from: "'415'",
    to: "'403'",
  },
  'an operation without a description': {
    rule: 'operation-description',
    message: 'Operation object should contain `description` field.',
    from: '  description: Makes a thing, and answers with it.\n',
    to: '',
  },
  'a request body without an example': {
    rule: 'trainyard/examples-written',
    message: 'A body has a written example.',
    from: '        examples: {default: {$ref: example.yaml}}\n  responses',
    to: '  responses',
  },
  'a response without an example': {
    rule: 'trainyard/examples-written',
    message: 'A body has a written example.',
    from: "          examples: {default: {$ref: example.yaml}}\n    '401'",
    to: "    '401'",
  },
  'an example that its schema refuses': {
    rule: 'no-invalid-media-type-examples',
    message: '`name` property type must be string',
    in: 'example.yaml',
    from: 'name: cup',
    to: 'name: 7',
  },
  'an example with a key that the response does not have': {
    rule: 'no-invalid-media-type-examples',
    message: 'must NOT have additional properties `colour`',
    in: 'example.yaml',
    from: 'name: cup',
    to: 'name: cup, colour: red',
  },
  'a response without x-request-id': {
    rule: 'trainyard/request-id-header',
    message: 'A response declares the header x-request-id.',
    from: 'description: The thing.\n      headers: {x-request-id: {$ref: header.yaml}}',
    to: 'description: The thing.',
  },
  'a property without a description': {
    rule: 'trainyard/property-description',
    message: 'The property name has no description.',
    from: ', description: Name of the thing.',
    to: '',
  },
  'a request that refuses unknown keys': {
    rule: 'trainyard/request-objects-open',
    message: 'A request takes unknown keys',
    from: 'schema:\n          type: object\n',
    to: 'schema:\n          type: object\n          additionalProperties: false\n',
  },
  'a response that leaves unknown keys open': {
    rule: 'trainyard/response-objects-closed',
    message: 'An object in a response says additionalProperties: false',
    from: '            additionalProperties: false\n',
    to: '',
  },
}

interface Problem {
  ruleId: string
  message: string
  location: { source: { ref: string } }[]
}

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'lint-rules-'))
const caseFolder = (number: number) => `case-${number}`

/** Writes one small contract; `change` breaks it. */
function writeCase(number: number, change?: Break): void {
  const files: Record<string, string> = { ...SHARED, 'path.yaml': SOUND, 'openapi.yaml': INDEX }
  if (change) {
    const name = change.in ?? 'path.yaml'
    const broken = files[name]!.replace(change.from, change.to)
    if (broken === files[name]) throw new Error(`Nothing to break: ${change.from}`)
    files[name] = broken
  }
  mkdirSync(join(folder, caseFolder(number)))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, caseFolder(number), name), text)
}

/** Lints all cases in one run of the linter, under the project's own redocly.yaml. It prints one report after another. */
async function runLint(count: number): Promise<Problem[]> {
  const entries = Array.from({ length: count }, (_, number) => `${caseFolder(number)}/openapi.yaml`)
  const { stdout } = await runRedocly(folder, ['lint', ...entries, '--format=json'])
  const reports = stdout.split(/(?<=^\})\s*(?=\{)/m).map(text => JSON.parse(text) as { problems: Problem[] })
  return reports.flatMap(report => report.problems)
}

let problems: Problem[] = []
const problemsOf = (number: number) =>
  problems.filter(problem => problem.location[0]?.source.ref.startsWith(`${caseFolder(number)}/`))

beforeAll(async () => {
  cpSync(join(root, 'redocly.yaml'), join(folder, 'redocly.yaml'))
  cpSync(join(root, 'src/generate/redocly-plugin.js'), join(folder, 'src/generate/redocly-plugin.js'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  writeCase(0)
  Object.values(BREAKS).forEach((change, index) => {
    writeCase(index + 1, change)
  })
  problems = await runLint(Object.keys(BREAKS).length + 1)
})

afterAll(() => rmSync(folder, { recursive: true }))

describe('the linter', () => {
  test('accepts a contract that breaks no rule', () => {
    expect(problemsOf(0)).toEqual([])
  })

  test.each(Object.entries(BREAKS).map(([name, change], index) => ({ name, ...change, number: index + 1 })))(
    'refuses $name',
    ({ rule, message, number }) => {
      const found = problemsOf(number).map(problem => ({ ruleId: problem.ruleId, message: problem.message }))
      expect(found).toContainEqual({ ruleId: rule, message: expect.stringContaining(message) })
    },
  )
})
