import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationId } from '../../src/contract/client.ts'
import { operations } from '../../src/spec/document.ts'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import { configure, prepare } from '../contract/setup.ts'
import { toPeerDocument } from './peer-document.ts'
import { type PeerExample, toExamples, toFetch, toRequests } from './peer-requests.ts'
import { toPeerTable } from './peer-table.ts'
import { makeSharedThings, makeThings } from './peer-things.ts'
import { startSwitchableFront } from './switchable-front.ts'
import type { Member } from './zoos.ts'

const STARTING_MS = 60_000

describe('what the other tools are given', () => {
  let service: InProcess
  let examples: PeerExample[]

  beforeAll(async () => {
    service = await startInProcess()
    configure(service)
    await prepare()
    const ids = new Set(operations.map(({ operationId }) => operationId as OperationId))
    examples = toExamples(await makeThings(await makeSharedThings(), ids), ids)
  }, STARTING_MS)
  afterAll(() => service.close())

  test('requests that the healthy service answers with the statuses that they name', {
    timeout: STARTING_MS,
  }, async () => {
    const requests = toRequests(examples, service.target.apiKey)
    const wrong: string[] = []
    for (const request of requests) {
      const response = await fetch(...toFetch(request, service.target.baseUrl))
      const text = await response.text()
      if (response.status !== request.expected) wrong.push(`${request.name}: ${response.status} ${text}`)
    }
    expect(wrong).toEqual([])
    expect(new Set(requests.map(({ name }) => name)).size).toBe(requests.length)
    expect(new Set(requests.map(({ operation }) => operation)).size).toBe(operations.length)
  })

  test('a document of these operations alone, with what exists as the examples, and every reference to be followed', () => {
    const chosen = examples.filter(({ operation }) => operation.operationId === 'getModel')
    const document = toPeerDocument(chosen, '3.1.0')
    const [path] = Object.keys(document.paths as object)
    expect(Object.keys(document.paths as object)).toEqual(['/v1/preview/models/{model_id}'])
    const { get } = (document.paths as Record<string, { get: { parameters: object[] } }>)[path!]!
    expect(get.parameters).toMatchObject([{ name: 'model_id', example: chosen[0]!.path.model_id }])
    expect(document.openapi).toBe('3.1.0')
    const text = JSON.stringify(document)
    for (const [, kind, name] of text.matchAll(/#\/components\/(\w+)\/([^"/]+)/g))
      expect((document.components as Record<string, object>)[kind!], `${kind} ${name}`).toHaveProperty([name!])
    expect(text).not.toContain('createWebhook')
  })

  test('one address for deployments that come one after the other', async () => {
    const front = await startSwitchableFront()
    const other = await service.openFront({ isDraining: true })
    const ask = async () => (await fetch(`${front.origin}${new URL(other).pathname}/v1/health`)).status
    try {
      front.pointAt(service.target.baseUrl)
      expect(await ask()).toBe(200)
      front.pointAt(other)
      expect(await ask()).toBe(503)
    } finally {
      await front.close()
    }
  })
})

test('the table counts what was found, apart for faults and correct variants, and tells what was not run', () => {
  const member = (name: string): Member => ({ name, rule: 'a rule', breaks: `${name} | breaks` })
  const table = toPeerTable({
    tools: [
      { name: 'one', version: '1.0' },
      { name: 'ours', version: '0.1' },
    ],
    rows: [
      { zoo: 'first', member: member('a'), outcomes: { one: 'found', ours: 'found' } },
      { zoo: 'first', member: member('b'), outcomes: { one: { trouble: 'it hangs' }, ours: 'missed' } },
      { zoo: 'variants', member: member('c'), outcomes: { one: 'found' } },
    ],
    zoos: [
      { zoo: 'first', members: 9, drawn: 2 },
      { zoo: 'variants', members: 1, drawn: 1 },
    ],
    notes: ['a note'],
  })
  expect(table).toContain('| First zoo | 2 | 1 | 1 | 1 |')
  expect(table).toContain('where each X is a false alarm | 1 | 1 | – | 1 |')
  expect(table).toContain('| **all faults** | 2 | 1 | 1 | 1 |')
  expect(table).toContain('- First zoo: 2 tried, of 2 drawn from 9.')
  expect(table).toContain('| a | a \\| breaks | X | X |')
  expect(table).toContain('| b | b \\| breaks | ? |  |')
  expect(table).toContain('| c | c \\| breaks | X | – |')
})
