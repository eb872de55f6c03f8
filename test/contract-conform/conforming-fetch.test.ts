import { describe, expect, it } from 'vitest'
import type { Exchange } from '../../src/contract/conforming-fetch.ts'
import { createConformingFetch } from '../../src/contract/conforming-fetch.ts'
import { createMatcher } from '../../src/contract/match-operation.ts'
import { operations } from '../../src/spec/document.ts'

const ID = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'

function createFetch(answer: () => Response) {
  const exchanges: Exchange[] = []
  const sent: Request[] = []
  const baseFetch = async (input: URL | string | Request, init?: RequestInit) => {
    sent.push(new Request(input, init))
    return answer()
  }
  const conformingFetch = createConformingFetch(baseFetch as typeof fetch, {
    onExchange: exchange => exchanges.push(exchange),
  })
  return { conformingFetch, exchanges, sent }
}

const json = (body: unknown, status = 200) => Response.json(body, { status, headers: { 'x-request-id': 'r-1' } })

describe('the operation of an exchange', () => {
  const match = createMatcher(operations)
  const find = (method: string, path: string) => match(method, path)?.operation.operationId

  it.each([
    ['GET', '/v1/health', 'getHealth'],
    ['get', '/any/prefix/v1/health', 'getHealth'],
    ['GET', '/v1/models', 'listInferenceModels'],
    ['GET', '/v1/preview/models', 'listModels'],
    ['GET', `/v1/preview/models/${ID}`, 'getModel'],
    ['POST', '/v1/chat/completions', 'createChatCompletion'],
    ['POST', '/v1/chat/completions/', 'createChatCompletionSlash'],
    ['DELETE', '/v2/a/b/scorers/c', 'deleteScorer'],
    ['GET', '/v1/preview/artifacts/a/b/c/versions/v0/files/d/e.txt', 'getArtifactFile'],
    ['GET', '/v1/preview/artifacts/a/b/c/versions/v0/files/v1/health', 'getArtifactFile'],
    ['POST', '/v1/health', undefined],
    ['GET', '/v1/nothing', undefined],
  ])('%s %s is %s', (method, path, operationId) => expect(find(method, path)).toBe(operationId))

  it('gives the path parameters decoded', () => {
    expect(match('DELETE', '/x/v2/team%20a/p/scorers/s%2F1')!.path).toEqual({
      entity: 'team a',
      project: 'p',
      object_id: 's/1',
    })
  })
})

describe('a conforming fetch', () => {
  it('hands the reply on and reports its violations', async () => {
    const { conformingFetch, exchanges } = createFetch(() => json({ model_id: ID }))
    const response = await conformingFetch(`http://host/prefix/v1/preview/models/${ID}`)
    expect(await response.json()).toEqual({ model_id: ID })
    expect(exchanges).toMatchObject([
      { status: 200, method: 'GET', operation: { operationId: 'getModel' }, requestFaults: [] },
    ])
    expect(exchanges[0]!.violations.length).toBeGreaterThan(0)
  })

  it('reports a bad request of our own unless it is meant to be bad, and sends it either way', async () => {
    const { conformingFetch, exchanges, sent } = createFetch(() => json({}))
    const body = JSON.stringify({ project: 'p', name: 7, base_model: 'b' })
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    await conformingFetch('http://host/v1/preview/models', init)
    await conformingFetch('http://host/v1/preview/models', { ...init, bad: true })
    await conformingFetch(`http://host/v1/preview/models?limit=0`)
    expect(exchanges.map(exchange => exchange.requestFaults)).toEqual([
      ['createModel was sent a bad request: body.name: Input should be a valid string'],
      [],
      ['listModels was sent a bad request: query.limit: Input should be greater than or equal to 1'],
    ])
    expect(sent).toHaveLength(3)
  })

  it('reports a missing part of a form', async () => {
    const { conformingFetch, exchanges } = createFetch(() => json({}))
    const body = new FormData()
    body.append('files', new Blob(['x']), 'a.txt')
    const url = 'http://host/v1/preview/artifacts/default/p/n/versions'
    await conformingFetch(url, { method: 'POST', body })
    body.append('version', JSON.stringify({ type: 'dataset' }))
    await conformingFetch(url, { method: 'POST', body })
    expect(exchanges.map(exchange => exchange.requestFaults.length)).toEqual([1, 0])
  })

  it('judges a stream when its reader has read it, and leaves its pieces as they are', async () => {
    const text = 'data: {"x":1}\n\ndata: [DONE]\n\n'
    const answer = () => new Response(text, { headers: { 'content-type': 'text/event-stream', 'x-request-id': 'r' } })
    const { conformingFetch, exchanges } = createFetch(answer)
    const init = { method: 'POST', body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], stream: true }) }
    const response = await conformingFetch('http://host/v1/chat/completions', init)
    expect(exchanges).toHaveLength(0)
    expect(await response.text()).toBe(text)
    expect(exchanges[0]!.violations.map(violation => violation.rule)).toContain('event-schema')
  })

  it('judges the error body of a path that no operation has, and of 405', async () => {
    const error = { message: 'No', type: 'not_found_error', param: null, code: null }
    const { conformingFetch, exchanges } = createFetch(() => json({ detail: 'No', error }, 404))
    await conformingFetch('http://host/v1/nothing')
    expect(exchanges[0]).toMatchObject({ operation: null, status: 404, violations: [] })
    const html = createFetch(() => new Response('<h1>Not found</h1>', { status: 405 }))
    await html.conformingFetch('http://host/v1/health')
    expect(html.exchanges[0]!.violations).toMatchObject([{ rule: 'json' }])
  })
})
