/** Requests that mean the same in other words, so that their answers are the same. */
import { check, section, WarnError } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { compareWith } from '../../src/contract/derive/compare-answers.ts'
import { countTwinRequests, deriveTwins, groupTwins } from '../../src/contract/derive/derive-twins.ts'
import type { Twins } from '../../src/contract/derive/derived-case.ts'
import { originOf } from '../../src/contract/severity.ts'
import { type Operation, operations } from '../../src/spec/document.ts'
import { fieldRulesOf } from './field-rules.ts'
import { quietRequest } from './good-requests.ts'
import { client, target } from './setup.ts'

const SOURCE = '/info/description#On the wire'

const CHECKS: Readonly<Record<Twins['rule'], [name: string, source: string]>> = {
  null: ['treats-null-as-left-out', SOURCE],
  default: ['treats-a-default-as-left-out', SOURCE],
  'key-order': ['ignores-the-order-of-keys', SOURCE],
  'unknown-key': ['ignores-unknown-keys', '/info/description#Ids, times and null'],
}

function twinsOf(operation: Operation): Twins[] {
  const id = operation.operationId as OperationId
  const quiet = quietRequest(id)
  return quiet ? deriveTwins(operation, quiet, fieldRulesOf(id)) : []
}

async function judgeTwins(operation: Operation, rule: Twins['rule']): Promise<void> {
  const id = operation.operationId as OperationId
  let warning: string | null = null
  for (const group of groupTwins(twinsOf(operation).filter(twins => twins.rule === rule))) {
    const ask = () => client.call(id, group[0]!.one)
    const [one, again] = [await ask(), await ask()]
    for (const { name, other, pointer } of group) {
      const difference = await compareWith(one, again, ask, () => client.call(id, other))
      if (difference === null) continue
      const message = `${name}: ${difference} [${pointer}]`
      if (target.profile === 'full' || originOf(pointer) === 'interface') throw new Error(message)
      warning ??= message
    }
  }
  if (warning !== null) throw new WarnError(warning)
}

/** A request written out, for what the client writes in one way only. */
function toRequest(
  operation: Operation,
  { path = {}, query = {}, body }: CallOptions,
  encode: (text: string) => string,
) {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encode(path[name]!))
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map(item => `${encode(name)}=${encode(String(item))}`),
  )
  const url = `${target.baseUrl}${filled}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`
  const basic = `Basic ${Buffer.from(target.basic).toString('base64')}`
  const authorization = operation.security[0] === 'basic' ? basic : `Bearer ${target.apiKey}`
  const headers = {
    ...(operation.security.length > 0 ? { authorization } : {}),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  return {
    url,
    init: { method: operation.method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) },
  }
}

/** Every character as its escape, also those that need none. */
function toEscapes(text: string): string {
  return [...Buffer.from(text)].map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
}

async function expectSame(operation: Operation, url: string, init: object, quiet: CallOptions): Promise<void> {
  const id = operation.operationId as OperationId
  const ask = () => client.call(id, quiet)
  const difference = await compareWith(await ask(), await ask(), ask, () => client.request(url, init))
  if (difference !== null) throw new Error(`${difference}, for ${url}`)
}

section('Same answers', { needs: ['memory'], source: SOURCE, shares: 'good requests' }, () => {
  for (const operation of operations) {
    const id = operation.operationId as OperationId
    const quiet = quietRequest(id)
    for (const [rule, twins] of Map.groupBy(twinsOf(operation), one => one.rule)) {
      const [name, source] = CHECKS[rule]
      check(`${id}/${name}`, { source, requests: countTwinRequests(twins) }, () => judgeTwins(operation, rule))
    }
    if (!quiet || quiet.form) continue

    if (operation.security.length > 0)
      check(`${id}/takes-header-names-in-any-case`, { requests: 3 }, async () => {
        const options = quietRequest(id)!
        const { url, init } = toRequest(operation, options, encodeURIComponent)
        const headers = Object.fromEntries(
          Object.entries(init.headers).map(([key, value]) => [key.toUpperCase(), value]),
        )
        await expectSame(operation, url, { ...init, headers }, options)
      })

    if (Object.keys({ ...quiet.path, ...quiet.query }).length > 0)
      check(`${id}/takes-escapes-that-nothing-needs`, { requests: 3 }, async () => {
        const options = quietRequest(id)!
        const { url, init } = toRequest(operation, options, toEscapes)
        await expectSame(operation, url, init, options)
      })

    if (operation.parameters.some(({ in: place, schema }) => place === 'path' && isUuid(schema)))
      check(`${id}/takes-ids-in-upper-case`, { requests: 3 }, async () => {
        const options = quietRequest(id)!
        const ids = operation.parameters.filter(({ schema }) => isUuid(schema))
        const path = { ...options.path }
        for (const { name } of ids) if (path[name]) path[name] = path[name].toUpperCase()
        const { url, init } = toRequest(operation, { ...options, path }, encodeURIComponent)
        await expectSame(operation, url, init, options)
      })
  }
})

function isUuid(schema: unknown): boolean {
  return (schema as { format?: unknown } | null)?.format === 'uuid'
}
