import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import { operationById } from '../../src/spec/document.ts'
import { client, target } from './setup.ts'

const REQUEST_ID = '/components/headers/XRequestId/description'
const FAILURES = '/components/schemas/SystemCheckResult/properties/errors/description'
const PUBLIC = { source: '/paths/~1v1~1health/get/security' }

section('Health', { home: false }, () => {
  check('getHealth/answers-without-credentials', PUBLIC, async () => {
    await client.ok('getHealth')
  })

  check('getHealth/answers-whatever-the-credentials', PUBLIC, async () => {
    await client.ok('getHealth', { as: { bearer: 'no-such-key' } })
  })

  check('getSystemCheck/finds-every-part-working', async () => {
    expect(await client.ok('getSystemCheck')).toMatchObject({
      api: true,
      database: { success: true },
      engine: { success: true },
    })
  })

  check('getSystemCheck/finds-no-failure-in-what-works', { source: FAILURES }, async () => {
    const { api: _, ...parts } = await client.ok('getSystemCheck')
    expect(Object.values(parts).filter(({ success, errors }) => !success || errors.length > 0)).toEqual([])
  })

  section('x-request-id, which a mock does not know', { needs: ['memory'], source: REQUEST_ID }, () => {
    check('getHealth/repeats-a-sane-request-id', async () => {
      const { headers } = await client.call('getHealth', { headers: { 'x-request-id': 'mine-7.a_B' } })
      expect(headers.get('x-request-id')).toBe('mine-7.a_B')
    })

    checkEach([
      ['with-a-space', 'with space'],
      ['with-a-colon', 'a:b'],
      ['with-a-slash', 'a/b'],
      ['that-is-long', 'x'.repeat(129)],
    ])('getHealth/replaces-a-request-id-%s', async (_, id) => {
      const { headers } = await client.call('getHealth', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    })

    check('getHealth/makes-a-new-request-id-each-time', async () => {
      // The client puts an id of its own into every other call.
      const url = target.baseUrl + operationById('getHealth').path
      const ids = await Promise.all([1, 2].map(async () => (await client.request(url)).headers.get('x-request-id')))
      expect(ids[0]).not.toBe(ids[1])
    })
  })

  check(
    'unknown-path/answers-404-in-the-error-form',
    { source: '/info/description#Errors', needs: ['memory'] },
    async () => {
      for (const path of ['/v1/nothing', '/v1/preview', '/v1/health/more']) {
        const { status, headers } = await client.request(target.baseUrl + path)
        expect(status, path).toBe(404)
        expect(headers.get('x-request-id')).not.toBeNull()
      }
    },
  )
})
