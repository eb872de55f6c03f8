// biome-ignore-all lint/suspicious/noTemplateCurlyInString: payloads name their variables so
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  checkPayload,
  type JsonValue,
  PayloadError,
  renderPayload,
  showPayload,
} from '../../src/automations/payload.ts'
import type { ApiError } from '../../src/errors.ts'

const VERSION = { id: 'i', entity: 'acme', project: 'p', name: 'n', version: 'v3', metadata: { a: [1] }, tags: ['x'] }
const VALUES: Record<string, JsonValue> = {
  project_name: 'p"\\\n',
  entity_name: 'acme',
  event_type: 'ADD_ARTIFACT_ALIAS',
  event_author: 'Ada "the first" $alias',
  alias: '${ACCESS_TOKEN}',
  tag: '',
  artifact_collection_name: '","injected":"',
  artifact_version: VERSION,
  artifact_version_string: 'acme/p/n:${tag}',
  run_id: 'r',
  run_name: '$$',
  metric_name: 'val/reward',
  metric_value: 0.5,
  'artifact_metadata.text': 'line one\nline two',
  'artifact_metadata.number': 7,
  'artifact_metadata.nothing': null,
  'artifact_metadata.object': { 'a"b': ['${alias}', 1] },
  'artifact_metadata.key.with dots': true,
}
const SECRETS = { ACCESS_TOKEN: 't0ken"$alias', HOOK_KEY: 'k3y' }
const render = (template: JsonValue) => renderPayload(template, VALUES, SECRETS)

describe('every variable', () => {
  const withUri = { ...VERSION, uri: 'artifact:///acme/p/n:v3' }
  const all = Object.entries({ ...VALUES, ...SECRETS, artifact_version: withUri })

  test.each(all)('${%s}', (name, value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    expect(render('${' + name + '}')).toEqual(value)
    expect(render('<${' + name + '}>')).toBe(`<${text}>`)
  })

  const plain = all.filter(([name]) => /^(artifact_metadata\.)?\w+$/.test(name))
  test.each(plain)('$%s', (name, value) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    expect(render(`$${name}`)).toEqual(value)
    expect(render(`<$${name}-$${name}>`)).toBe(`<${text}-${text}>`)
  })

  test('is empty without a value', () => {
    for (const name of ['alias', 'artifact_version', 'metric_value', 'artifact_metadata.other'])
      expect(renderPayload(['${' + name + '}', `$${name}.`], {}, {})).toEqual(['', '.'])
    expect(render('${artifact_metadata.constructor}${artifact_metadata.__proto__}')).toBe('')
  })

  test('is put into the JSON as it is and once, whatever it holds', () => {
    const template = {
      a: 'By ${event_author} on $artifact_collection_name',
      b: [{ c: '$project_name', d: '${alias}' }],
    }
    expect(JSON.parse(JSON.stringify(render(template)))).toEqual({
      a: 'By Ada "the first" $alias on ","injected":"',
      b: [{ c: 'p"\\\n', d: '${ACCESS_TOKEN}' }],
    })
    expect(render('${artifact_version_string}$run_name$ACCESS_TOKEN')).toBe('acme/p/n:${tag}$$t0ken"$alias')
  })
})

test.each<[string, JsonValue]>([
  ['a $ or 5$ or $5 or $-', 'a $ or 5$ or $5 or $-'],
  ['$$alias $${alias} $$$tag|', '$alias ${alias} $|'],
  ['$entity_name.$event_type', 'acme.ADD_ARTIFACT_ALIAS'],
  ['$artifact_metadata.number.5', '7.5'],
  ['${artifact_metadata.key.with dots}!', 'true!'],
  ['$artifact_metadata.object', { 'a"b': ['${alias}', 1] }],
  ['{alias} ${entity_name}}', '{alias} acme}'],
])('%s', (text, expected) => {
  expect(render(text)).toEqual(expected)
})

test('keys, and what is not a string, stay as they are', () => {
  const template = JSON.parse('{"$alias":[1,true,null,{"${tag}":0}],"__proto__":"$entity_name"}') as JsonValue
  expect(JSON.stringify(render(template))).toBe('{"$alias":[1,true,null,{"${tag}":0}],"__proto__":"acme"}')
})

test('the URI of a version has the scheme of the deployment', () => {
  expect(renderPayload('$artifact_version', VALUES, {}, 'wandb-artifact')).toMatchObject({
    uri: 'wandb-artifact:///acme/p/n:v3',
  })
  expect(renderPayload('$artifact_version', { artifact_version: { id: 'a part' } }, {})).toEqual({ id: 'a part' })
})

describe('what cannot be sent', () => {
  test('a secret that the webhook does not have (any more)', () => {
    expect(() => renderPayload({ a: ['$HOOK_KEY'] }, VALUES, {})).toThrow(PayloadError)
    expect(() => renderPayload('$toString', VALUES, SECRETS)).toThrow(/"toString" is neither a variable nor a secret/)
  })

  test('a large value that is named again and again', () => {
    const large = { 'artifact_metadata.a': 'x'.repeat(100_000) }
    expect(renderPayload(Array(10).fill('$artifact_metadata.a'), large, {})).toHaveLength(10)
    expect(() => renderPayload(Array(11).fill('$artifact_metadata.a'), large, {})).toThrow(PayloadError)
  })
})

test('it is shown without its secrets, whatever became of them', () => {
  expect(showPayload({ a: '$HOOK_KEY', b: 'Bearer ${GONE}', c: '$entity_name' }, VALUES)).toEqual({
    a: '********',
    b: 'Bearer ********',
    c: 'acme',
  })
  const tooLarge = Array(20).fill('$artifact_metadata.a')
  expect(showPayload(tooLarge, { 'artifact_metadata.a': 'x'.repeat(100_000) })).toEqual(tooLarge)
})

describe('checkPayload', () => {
  const faultsOf = (payload: JsonValue, names: string[] = []) => {
    try {
      checkPayload(payload, names)
      return []
    } catch (error) {
      return (error as ApiError).detail!.map(({ loc, type }) => [loc.join('.'), type])
    }
  }

  test('lets every variable and the secrets of the webhook pass', () => {
    const all = [...Object.keys(VALUES), 'ACCESS_TOKEN', 'HOOK-KEY'].map(name => '${' + name + '}')
    expect(faultsOf({ all, more: 'a $ $$ $$unknown $${unknown}' }, ['ACCESS_TOKEN', 'HOOK-KEY'])).toEqual([])
  })

  test.each<[string]>([
    ['$unknown'],
    ['x ${unknown} y'],
    ['${ alias }'],
    ['${Alias}'],
    ['${}'],
    ['$aliases'],
    ['$artifact_metadata'],
    ['${artifact_metadata}'],
    ['${artifact_metadata.}'],
    ['$ACCESS_TOKEN'],
    ['$OTHER_SECRET'],
    ['${constructor}'],
  ])('refuses %s, and says where', text => {
    expect(faultsOf({ a: [{ b: text }] }, ['MY_SECRET'])).toEqual([['body.payload.a.0.b', 'unknown_variable']])
  })

  test('refuses a brace that is never closed', () => {
    expect(faultsOf({ a: '${alias' })).toEqual([['body.payload.a', 'value_error']])
  })

  test('bounds size and depth', () => {
    const nest = (depth: number): JsonValue => (depth === 0 ? 'x' : { a: nest(depth - 1) })
    expect(faultsOf(nest(32))).toEqual([])
    expect(faultsOf(nest(33))).toEqual([[`body.payload${'.a'.repeat(32)}`, 'value_error']])
    expect(faultsOf({ a: 'ä'.repeat(32_764) })).toEqual([])
    expect(faultsOf({ a: 'ä'.repeat(32_765) })).toEqual([['body.payload', 'too_long']])
  })
})

const texts = fc.array(
  fc.oneof(
    fc.constantFrom('$alias', '${tag}', '${artifact_version}', '$metric_value', '$$', '$', '{', '}', '"', '\\', '\n'),
    fc.string(),
    fc.constantFrom('${artifact_metadata.', 'a', '$ACCESS_TOKEN'),
  ),
)
const templates = fc.letrec<{ value: JsonValue }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts.map(parts => parts.join('')),
    fc.constantFrom<JsonValue>(null, true, 0.5),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$alias', '__proto__')), tie('value'), { maxKeys: 4 }),
  ),
})).value

/** The same tree, its strings replaced by whatever stands in their place. */
function hasShapeOf(value: JsonValue, template: JsonValue): boolean {
  if (typeof template === 'string') return true
  if (Array.isArray(template))
    return (
      Array.isArray(value) &&
      value.length === template.length &&
      template.every((item, index) => hasShapeOf(value[index]!, item))
    )
  if (typeof template !== 'object' || template === null) return value === template
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const keys = Object.keys(template)
  return Object.keys(value).join('\0') === keys.join('\0') && keys.every(key => hasShapeOf(value[key]!, template[key]!))
}

test('whatever the template and the values, the tree keeps its shape and is JSON', () => {
  fc.assert(
    fc.property(templates, fc.jsonValue(), fc.string(), fc.string(), (template, version, alias, token) => {
      try {
        checkPayload(template, ['ACCESS_TOKEN'])
      } catch {
        return
      }
      const variables = { artifact_version: version as JsonValue, alias, tag: '$alias', metric_value: 1 }
      const rendered = renderPayload(template, variables, { ACCESS_TOKEN: token })
      expect(hasShapeOf(rendered, template)).toBe(true)
      expect(JSON.stringify(JSON.parse(JSON.stringify(rendered)))).toBe(JSON.stringify(rendered))
    }),
    { numRuns: 500 },
  )
})
