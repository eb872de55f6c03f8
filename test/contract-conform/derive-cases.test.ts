import { describe, expect, it } from 'vitest'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { countCases, deriveCases } from '../../src/contract/derive/derive-cases.ts'
import { countTwinRequests, deriveTwins } from '../../src/contract/derive/derive-twins.ts'
import { EXPECTATIONS } from '../../src/contract/derive/derived-case.ts'
import { CASES_PER_PROPERTY, MOST_CASES, selectCases } from '../../src/contract/derive/select-cases.ts'
import { operations, toOperations } from '../../src/spec/document.ts'
import { isStatement } from '../../src/spec/pointer.ts'
import { validateRequest } from '../../src/spec/validate.ts'
import { fieldRulesOf } from '../contract/field-rules.ts'

const ID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'
const tag = (value: string) => ({ type: 'string', const: value })
const schema = {
  type: 'object',
  required: ['id', 'items', 'either'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    rate: { type: ['number', 'null'], minimum: 0, maximum: 1, default: 0.5 },
    at: { type: 'string', format: 'date-time' },
    name: { type: 'string', minLength: 1, maxLength: 3 },
    kind: { type: 'string', enum: ['a', 'b'] },
    flag: { type: 'boolean', default: false },
    items: {
      type: 'array',
      maxItems: 2,
      items: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } },
    },
    either: {
      oneOf: [
        { type: 'object', required: ['type', 'x'], properties: { type: tag('one'), x: { type: 'integer' } } },
        {
          type: 'object',
          required: ['type', 'y'],
          properties: { type: tag('two'), y: { type: 'string', maxLength: 2 } },
        },
      ],
    },
  },
}
const parameters = [
  { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } },
  { name: 'order', in: 'query', schema: { type: 'string', enum: ['asc', 'desc'] } },
  { name: 'id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } },
  { name: 'entity', in: 'path', required: true, schema: { type: 'string', maxLength: 3 } },
  { name: 'Key', in: 'header', schema: { type: 'string', pattern: '^[!-~]+$', maxLength: 3 } },
]
const requestBody = { required: true, content: { 'application/json': { schema } } }
const [operation] = toOperations({
  paths: { '/x': { post: { operationId: 'post', parameters, requestBody, responses: {} } } },
}) as [(typeof operations)[number]]
const good: CallOptions = {
  path: { id: ID, entity: 'e' },
  query: { limit: 3 },
  body: { id: ID, items: [{ n: 1 }], rate: 0.5, either: { type: 'one', x: 1 } },
}

function judge({ path = {}, query = {}, headers = {}, body }: CallOptions) {
  const texts = Object.entries(query).filter(([, value]) => value !== undefined)
  return validateRequest(operation, {
    path,
    query: Object.fromEntries(texts.map(([name, value]) => [name, Array.isArray(value) ? value : String(value)])),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    body: JSON.parse(JSON.stringify(body)),
  })
}

describe('derived cases', () => {
  const all = { mayAccept: true, most: Number.POSITIVE_INFINITY }
  const cases = deriveCases(operation, good, all)
  const names = (rule: string) => cases.filter(one => one.rule === rule).map(({ name }) => name)

  it('come from a good request', () => expect(judge(good).ok).toBe(true))

  it('take each required part away', () => {
    expect(names('required')).toEqual(
      expect.arrayContaining([
        'id removed',
        'items removed',
        'items.0.n removed',
        'either.x removed',
        'either.y removed',
      ]),
    )
  })

  it('try each limit on both sides, in characters and items', () => {
    expect(names('bounds')).toEqual(
      expect.arrayContaining([
        ...[
          'query limit below its minimum',
          'query limit above its maximum',
          'query limit empty',
          'header key too long',
        ],
        ...['rate below its minimum', 'rate above its maximum', 'name too short', 'name too long'],
        ...['name too long in characters of two units', 'items with too many items', 'either.y too long'],
      ]),
    )
    expect(names('allowed')).toEqual(
      expect.arrayContaining([
        ...[
          'query limit at its minimum',
          'query limit at its maximum',
          'query order as "desc"',
          'path id as a UUID in upper case',
        ],
        ...['rate at its minimum', 'rate at its maximum', 'name as long as it may be', 'kind as "b"', 'flag as true'],
        'name as long as it may be in characters of two units',
      ]),
    )
  })

  it('come near to formats, values and types', () => {
    expect(names('format')).toEqual(
      expect.arrayContaining([
        'id as a UUID in braces',
        'path id as a UUID as a URN',
        'at as a time with a space',
        'at as hour 24',
      ]),
    )
    expect(names('values')).toEqual(
      expect.arrayContaining(['kind in another case', 'query order of another value', 'either.type of another value']),
    )
    expect(names('lookalike')).toEqual(expect.arrayContaining(['rate as "1"', 'flag as "true"', 'flag as 1']))
    expect(names('null')).toEqual(expect.arrayContaining(['name null', 'items.0.n null']))
    expect(names('null')).not.toContain('rate null')
    expect(names('repeated')).toEqual(['query limit given twice', 'query order given twice'])
  })

  it('leave names of teams to authorization', () => {
    expect(cases.filter(({ name }) => name.includes('entity'))).toEqual([])
  })

  it.each(cases.map(one => [one.name, one] as const))('%s is judged by validation as it says', (_, one) => {
    const result = judge(one.options)
    const places = result.ok ? [] : result.detail.map(({ loc }) => loc.join('.'))
    if (EXPECTATIONS[one.rule] !== 'refused') return expect(places).toEqual([])
    expect(
      places.some(place => `${place}.`.startsWith(`${one.loc!.join('.')}.`)),
      places.join(),
    ).toBe(true)
  })

  it('need not be accepted where that would change something', () => {
    const rules = new Set(deriveCases(operation, good, { mayAccept: false }).map(({ rule }) => EXPECTATIONS[rule]))
    expect([...rules]).toEqual(['refused'])
  })

  it('keep to what only words say', () => {
    const rules = { rate: { isUncertain: true }, name: { beside: { kind: 'a' } } }
    const kept = deriveCases(operation, good, { ...all, rules }).filter(({ loc }) => loc === null)
    expect(kept.filter(({ name }) => name.startsWith('rate'))).toEqual([])
    const named = kept.filter(({ name }) => name.startsWith('name '))
    expect(named.length).toBeGreaterThan(0)
    for (const { options } of named) expect(options.body).toMatchObject({ kind: 'a' })
  })

  it('are as many for other ids and names, and always the same', () => {
    const other = { ...good, path: { id: ID.replace('0', 'f'), entity: 'other' } }
    expect(countCases(operation, other, all)).toBe(cases.length)
    expect(deriveCases(operation, good, all)).toEqual(cases)
  })
})

describe('the choice among too many cases', () => {
  const many = Array.from({ length: 100 }, (_, index) => ({ name: `case ${index}`, rank: index % 3 }))

  it('takes the most telling ones in their order, always the same', () => {
    const chosen = selectCases(many, 40)
    expect(chosen).toHaveLength(40)
    expect(chosen.filter(({ rank }) => rank === 0)).toHaveLength(34)
    expect(chosen).toEqual(many.filter(one => chosen.includes(one)))
    expect(selectCases(many, 40)).toEqual(chosen)
  })

  it('takes all where they are few', () => expect(selectCases(many, 100)).toEqual(many))
})

describe('twins', () => {
  const twins = deriveTwins(operation, good, {})

  it('are null and left out, the default and left out, the order of keys and unknown keys', () => {
    expect(twins.map(({ rule, name }) => `${rule}: ${name}`)).toEqual([
      'null: rate as null',
      'default: rate as its default',
      'default: flag as its default',
      'key-order: keys in the opposite order',
      'unknown-key: keys that the contract does not name',
    ])
    expect(twins[0]).toMatchObject({ other: { body: { rate: null } } })
    expect(twins[0]!.one.body).not.toHaveProperty('rate')
    expect(countTwinRequests(twins)).toBe(5 + 2 * 2)
  })

  it('are both valid', () => {
    for (const { one, other } of twins) expect([judge(one).ok, judge(other).ok]).toEqual([true, true])
  })

  it('of an update are only what does not leave anything out', () => {
    const update = { ...operation, method: 'PATCH' }
    expect(deriveTwins(update, good, {}).map(({ rule }) => rule)).toEqual(['key-order', 'unknown-key'])
  })
})

describe('the cases of the contract', () => {
  /** Examples name no deployment, and are good requests all the same. */
  const bodies: Partial<Record<OperationId, unknown>> = {
    createChatCompletion: { messages: [{ role: 'user', content: 'hello' }], model: 'm' },
    createRlTrainingJob: { model_id: ID, trajectory_groups: [{ trajectories: [{ messages_and_choices: [] }] }] },
    createSftTrainingJob: { model_id: ID, training_data_url: 'artifact:///a/b/c:v0' },
    createModel: { project: 'p', name: 'n', base_model: 'b' },
  }

  it.each(Object.entries(bodies))('of %s are few, and each names a statement of the contract', (id, body) => {
    const operation = operations.find(({ operationId }) => operationId === id)!
    const settings = { mayAccept: true, rules: fieldRulesOf(id as OperationId) }
    const cases = deriveCases(operation, { body }, settings)
    const properties = Object.keys(
      (operation.components[{ createChatCompletion: 'ChatCompletionRequest' }[id] ?? ''] as { properties?: object })
        ?.properties ?? {},
    ).length
    expect(cases.length).toBeLessThanOrEqual(Math.max(MOST_CASES, CASES_PER_PROPERTY * properties))
    expect(cases.length).toBeGreaterThan(30)
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length)
    expect(cases.filter(({ pointer }) => !isStatement(pointer)).map(({ pointer }) => pointer)).toEqual([])
    const twins = deriveTwins(operation, { body }, {})
    expect(twins.filter(({ pointer }) => !isStatement(pointer)).map(({ pointer }) => pointer)).toEqual([])
  })
})
