import { describe, expect, test } from 'vitest'
import { ApiError, createClient } from '../../generated/client.ts'
import { createRuntime } from '../../src/generate/client-runtime.ts'

const modelId = '01990c5e-3b6f-7c41-9d35-5a7d1e2f3b40'

/** A client of a service in memory, and the requests that it got. */
const createTestClient = (...replies: Response[]) => {
  const requests: Request[] = []
  const client = createClient({
    baseUrl: 'http://service.test/any/prefix',
    apiKey: 'key-1',
    headers: { 'user-agent': 'test' },
    fetch: async request => {
      requests.push(request)
      const reply = replies.shift()
      if (!reply) throw new Error('one request too many')
      return reply
    },
  })
  return { client, requests }
}
const json = (body: unknown, init?: ResponseInit) => Response.json(body, init)

describe('a client function', () => {
  test('sends path, query and body fields of one flat input to their places', async () => {
    const { client, requests } = createTestClient(json({ deleted_count: 1 }), json({ data: [] }))
    await client.deleteCheckpoints({ model_id: modelId, steps: [1, 2] })
    expect(requests[0]!.method).toBe('DELETE')
    expect(requests[0]!.url).toBe(`http://service.test/any/prefix/v1/preview/models/${modelId}/checkpoints`)
    expect(requests[0]!.headers.get('content-type')).toBe('application/json')
    expect(await requests[0]!.json()).toEqual({ steps: [1, 2] })

    await client.listTrainingJobs({ model_id: modelId, status: 'RUNNING', limit: 5, after: undefined })
    const { pathname, search } = new URL(requests[1]!.url)
    expect(pathname + search).toBe(`/any/prefix/v1/preview/training-jobs?model_id=${modelId}&status=RUNNING&limit=5`)
    expect(requests[1]!.body).toBeNull()
  })

  test('returns the body of the reply', async () => {
    const model = { id: modelId, name: 'agent' }
    const { client } = createTestClient(json(model))
    expect(await client.getModel({ model_id: modelId })).toEqual(model)
  })

  test('sends the key as Bearer token, headers of the client and of the call', async () => {
    const { client, requests } = createTestClient(json({ id: modelId }))
    const input = { model_id: modelId, trajectory_groups: [] }
    await client.createRlTrainingJob(input, { headers: { 'Idempotency-Key': 'step-1' } })
    const { headers } = requests[0]!
    expect(headers.get('authorization')).toBe('Bearer key-1')
    expect(headers.get('idempotency-key')).toBe('step-1')
    expect(headers.get('user-agent')).toBe('test')
  })

  test('sends no credentials to a public operation', async () => {
    const { client, requests } = createTestClient(json({ status: 'ok' }))
    await client.getHealth()
    expect(requests[0]!.headers.has('authorization')).toBe(false)
  })

  test('sends the key as the password of Basic authentication where nothing else is taken', async () => {
    let authorization: string | null = null
    const runtime = createRuntime({
      baseUrl: 'http://service.test',
      apiKey: 'schlüssel',
      fetch: async request => {
        authorization = request.headers.get('authorization')
        return json({})
      },
    })
    const input = { path: [], query: [], body: 'none', bodyRequired: false, files: [] } as const
    await runtime.json({ id: 'getThing', method: 'get', route: '/', ...input, security: 'basic' }, {})
    expect(authorization).toBe(`Basic ${Buffer.from('api:schlüssel').toString('base64')}`)
  })

  test('repeats a list in the query, and sends a body that is no object whole or not at all', async () => {
    const { client, requests } = createTestClient(json({ num_deleted: 2 }), json({ num_deleted: 1 }))
    const scorer = { entity: 'default', project: 'demo', object_id: 'exact match' }
    await client.deleteScorer({ ...scorer, digests: ['a', 'b'] })
    expect(requests[0]!.url).toBe(
      'http://service.test/any/prefix/v2/default/demo/scorers/exact%20match?digests=a&digests=b',
    )
    expect(requests[0]!.body).toBeNull()
    await client.deleteScorer({ ...scorer, body: ['c'] })
    expect(await requests[1]!.json()).toEqual(['c'])
  })

  test.each([
    [true, '{}'],
    [false, ''],
  ])('without any field sends an empty object only where a body is required: %s', async (bodyRequired, sent) => {
    let body = ''
    const runtime = createRuntime({
      baseUrl: 'http://service.test',
      fetch: async request => {
        body = await request.text()
        return json({})
      },
    })
    const plan = { id: 'createThing', method: 'post', route: '/', path: [], query: [], files: [] } as const
    await runtime.json({ ...plan, body: 'json', bodyRequired, security: 'none' }, {})
    expect(body).toBe(sent)
  })

  test.each(['', '.', '..'])('refuses %j in a path, where it would lead to another operation', async model_id => {
    const { client, requests } = createTestClient()
    await expect(client.deleteModel({ model_id })).rejects.toThrow(`deleteModel: model_id cannot be "${model_id}"`)
    expect(requests).toEqual([])
  })

  test('gives file downloads as the reply with its body unread', async () => {
    const { client, requests } = createTestClient(new Response('ab', { status: 206, headers: { etag: '"x"' } }))
    const place = { entity: 'default', project: 'demo', name: 'data', version: 'v0', path: 'adapter/config.json' }
    const response = await client.getArtifactFile(place, { headers: { Range: 'bytes=0-1' } })
    expect(requests[0]!.url).toMatch(/versions\/v0\/files\/adapter%2Fconfig\.json$/)
    expect(requests[0]!.headers.get('range')).toBe('bytes=0-1')
    expect([response.status, response.headers.get('etag'), await response.text()]).toEqual([206, '"x"', 'ab'])
  })

  test('uploads files and JSON parts as a form', async () => {
    const { client, requests } = createTestClient(json({ version: 'v0' }))
    await client.createArtifactVersion({
      entity: 'default',
      project: 'demo',
      name: 'data',
      files: [
        { name: 'trajectories.jsonl', data: '{"messages":[]}\n' },
        { name: 'folder/with "quotes".bin', data: new Uint8Array([0, 13, 10, 255]) },
      ],
      version: { type: 'dataset', metadata: { note: 'ü' } },
    })
    const raw = await requests[0]!.clone().text()
    expect(raw).toContain(
      'name="version"\r\ncontent-type: application/json\r\n\r\n{"type":"dataset","metadata":{"note":"ü"}}',
    )
    const form = await requests[0]!.formData()
    const [text, binary] = form.getAll('files') as File[]
    expect([text!.name, await text!.text()]).toEqual(['trajectories.jsonl', '{"messages":[]}\n'])
    expect([...new Uint8Array(await binary!.arrayBuffer())]).toEqual([0, 13, 10, 255])
    expect(binary!.name).toBe('folder/with "quotes".bin')
  })

  test('runs the given middleware around every request', async () => {
    const seen: string[] = []
    const client = createClient({
      baseUrl: 'http://service.test',
      fetch: async () => json({ status: 'ok' }),
      middleware: [
        {
          onRequest: ({ schemaPath }) => void seen.push(schemaPath),
          onResponse: ({ response }) => void seen.push(String(response.status)),
        },
      ],
    })
    await client.getHealth()
    expect(seen).toEqual(['/v1/health', '200'])
  })

  test('ends when its signal is aborted', async () => {
    const client = createClient({
      baseUrl: 'http://service.test',
      fetch: request =>
        new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason))),
    })
    await expect(client.getHealth({}, { signal: AbortSignal.timeout(5) })).rejects.toThrow('timeout')
  })
})

describe('an ApiError', () => {
  const failWith = async (reply: Response) => {
    const { client } = createTestClient(reply)
    const error = await client.getModel({ model_id: modelId }).catch((thrown: unknown) => thrown)
    if (!(error instanceof ApiError)) throw new Error('no ApiError was thrown')
    return error
  }

  test('carries both keys of the error body, the operation and the request id', async () => {
    const detail = [{ loc: ['path', 'model_id'], msg: 'not a UUID', type: 'format' }]
    const body = {
      detail,
      error: { message: 'model_id: not a UUID', type: 'invalid_request_error', param: 'model_id', code: null },
    }
    const error = await failWith(json(body, { status: 422, headers: { 'x-request-id': 'r-1' } }))
    expect(error).toMatchObject({ name: 'ApiError', operationId: 'getModel', status: 422, detail, requestId: 'r-1' })
    expect(error.error).toEqual(body.error)
    expect(error.message).toBe('getModel: 422 model_id: not a UUID')
  })

  test('tells after how many seconds to try again', async () => {
    const body = { detail: 'busy', error: { message: 'busy', type: 'rate_limit_error', param: null, code: null } }
    const error = await failWith(json(body, { status: 429, headers: { 'retry-after': '2' } }))
    expect([error.detail, error.retryAfterSeconds]).toEqual(['busy', 2])
  })

  test('keeps a body that is not an error body of the contract', async () => {
    const error = await failWith(new Response('<h1>Bad gateway</h1>', { status: 502 }))
    expect(error).toMatchObject({ status: 502, detail: null, error: null, body: '<h1>Bad gateway</h1>' })
    expect(error.message).toBe('getModel: 502 <h1>Bad gateway</h1>')
  })
})

describe('an iteration over a cursor list', () => {
  const page = (ids: string[], has_more: boolean) =>
    json({ object: 'list', data: ids.map(id => ({ id })), first_id: ids[0] ?? '', last_id: ids.at(-1) ?? '', has_more })
  const collect = async <Item>(items: AsyncIterable<Item>) => {
    const collected: Item[] = []
    for await (const item of items) collected.push(item)
    return collected
  }

  test('gives the items of all pages, asking for each after the last of the one before', async () => {
    const { client, requests } = createTestClient(page(['a', 'b'], true), page(['c'], false))
    const checkpoints = await collect(client.iterateCheckpoints({ model_id: modelId, limit: 2, order: 'desc' }))
    expect(checkpoints.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(requests.map(({ url }) => new URL(url).search)).toEqual([
      '?limit=2&order=desc',
      '?limit=2&order=desc&after=b',
    ])
  })

  test('gives nothing for an empty list, and asks no further than the loop goes', async () => {
    const { client, requests } = createTestClient(page([], false), page(['a', 'b'], true))
    expect(await collect(client.iterateModels())).toEqual([])
    for await (const model of client.iterateModels()) {
      expect(model.id).toBe('a')
      break
    }
    expect(requests.length).toBe(2)
  })

  test('throws instead of asking for the same page for ever', async () => {
    const { client } = createTestClient(page(['a'], true), page(['a'], true))
    await expect(collect(client.iterateModels())).rejects.toThrow('last_id (a) leads no further')
  })
})
