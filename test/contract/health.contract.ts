import { describe, expect, test } from 'vitest'
import { client, target } from './setup.ts'

describe('Health', () => {
  test('getHealth/answers-without-credentials', async () => {
    expect((await client.call('getHealth')).status).toBe(200)
  })

  test('getHealth/answers-whatever-the-credentials', async () => {
    expect((await client.call('getHealth', { as: { bearer: 'no-such-key' } })).status).toBe(200)
  })

  test('getSystemCheck/finds-every-part-working', async () => {
    expect(await client.ok('getSystemCheck')).toMatchObject({
      api: true,
      database: { success: true },
      engine: { success: true },
    })
  })

  describe.skipIf(target.isMock)('x-request-id, which a mock does not know', () => {
    test('getHealth/repeats-a-sane-request-id', async () => {
      const { headers } = await client.call('getHealth', { headers: { 'x-request-id': 'mine-7.a_B' } })
      expect(headers.get('x-request-id')).toBe('mine-7.a_B')
    })

    test.each(['with space', 'a:b', 'a/b', 'x'.repeat(129)])('getHealth/replaces-the-request-id %j', async id => {
      const { headers } = await client.call('getHealth', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    })

    test('getHealth/makes-a-new-request-id-each-time', async () => {
      const ids = await Promise.all(
        [1, 2].map(async () => (await client.call('getHealth')).headers.get('x-request-id')),
      )
      expect(ids[0]).not.toBe(ids[1])
    })
  })

  test.skipIf(target.isMock)('unknown-path/answers-404-in-the-error-form', async () => {
    for (const path of ['/v1/nothing', '/v1/preview', '/v1/health/more']) {
      const { status, headers } = await client.request(target.baseUrl + path)
      expect(status, path).toBe(404)
      expect(headers.get('x-request-id')).not.toBeNull()
    }
  })
})
