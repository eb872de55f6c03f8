/** Checks that are the same for every operation, derived from the contract. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import type { Credentials, OperationId } from '../../src/contract/client.ts'
import { isRefusal, isSuccess } from '../../src/contract/severity.ts'
import type { Operation } from '../../src/spec/document.ts'
import { operations } from '../../src/spec/document.ts'
import { goodRequest } from './good-requests.ts'
import { client, target } from './setup.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
/** What a browser's preflight may be answered. */
const LETS_IN = [200, 204]
const ERRORS = '/info/description#Errors'
const BEFORE_THE_BODY = '/info/description#Authentication'
const WIRE = '/info/description#On the wire'
const SCHEMES = { bearer: 'Bearer', basic: 'Basic' }

async function expectUnauthorized(operation: Operation, as: Credentials): Promise<void> {
  const id = operation.operationId as OperationId
  const answer = await client.call(id, { ...goodRequest(id), as, bad: true })
  if (!isRefusal(answer.status, 401, target.profile)) expect(answer.status).toBe(401)
  // A mock has one example for all operations, and the interface names no header.
  const schemes = target.isMock || target.profile === 'interface' ? [] : operation.security
  for (const scheme of schemes) expect(answer.headers.get('www-authenticate')).toContain(SCHEMES[scheme])
}

section('Every operation', { shares: 'good requests' }, () => {
  for (const operation of operations) {
    const id = operation.operationId as OperationId
    const isPublic = operation.security.length === 0
    const takesJson = operation.requestBody?.content.has('application/json') ?? false

    check(`${id}/accepts-a-good-request`, { source: `${operation.pointer}/responses` }, async () => {
      const { status, text } = await client.call(id, goodRequest(id))
      const isTaken = isSuccess(status, target.profile) || isRefusal(status, 404, target.profile)
      if (!isTaken || status === 401) expect([200, 400, 404], text).toContain(status)
      if (target.isMock) expect(status).toBe(200)
    })

    if (!isPublic)
      section('credentials', { source: `${operation.pointer}/security` }, () => {
        check(`${id}/rejects-missing-credentials`, () => expectUnauthorized(operation, 'none'))

        section('which a mock cannot tell apart', { needs: ['memory'] }, () => {
          check(`${id}/rejects-a-wrong-key`, async () => {
            for (const scheme of operation.security) {
              await expectUnauthorized(
                operation,
                scheme === 'bearer' ? { bearer: 'no-such-key' } : { basic: 'api:no-such-key' },
              )
            }
          })

          check(`${id}/rejects-other-schemes`, async () => {
            await expectUnauthorized(operation, { authorization: target.apiKey })
            await expectUnauthorized(operation, { authorization: `Digest ${target.apiKey}` })
            await expectUnauthorized(operation, { authorization: 'Basic !' })
            if (!operation.security.includes('basic')) await expectUnauthorized(operation, { basic: target.basic })
          })

          if (takesJson)
            check(`${id}/judges-credentials-before-the-body`, { source: BEFORE_THE_BODY }, async () => {
              const { path } = goodRequest(id)
              const request = {
                path: path ?? {},
                raw: '{',
                headers: { 'content-type': 'application/json' },
                as: 'none' as const,
              }
              await client.refused(id, 401, { ...request, bad: true })
            })

          check(`${id}/takes-the-scheme-in-any-case`, { source: WIRE }, async () => {
            const authorization = operation.security.includes('bearer') ? `bEARER ${target.apiKey}` : ''
            const { status } = await client.call(id, { ...goodRequest(id), as: { authorization } })
            expect(status).not.toBe(401)
          })
        })
      })

    section('what a mock answers in a form of its own', { needs: ['memory'] }, () => {
      check(`${id}/rejects-other-methods`, { source: ERRORS }, async () => {
        const declared = operations.filter(({ path }) => path === operation.path).map(({ method }) => method)
        const path = goodRequest(id).path ?? {}
        const url =
          target.baseUrl + operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!))
        for (const method of [...METHODS.filter(method => !declared.includes(method)), 'OPTIONS']) {
          const { status, headers } = await client.request(url, { method, bad: true })
          if (method === 'OPTIONS' && LETS_IN.includes(status)) continue
          expect(status, method).toBe(405)
          const allowed = (headers.get('allow') ?? '').split(/,\s*/).filter(one => one !== 'HEAD' && one !== 'OPTIONS')
          expect(allowed.toSorted()).toEqual(declared.toSorted())
        }
      })

      if (operation.requestBody)
        check(`${id}/rejects-other-media-types`, { source: ERRORS }, async () => {
          const { path, body = {} } = goodRequest(id)
          for (const type of ['text/plain', 'application/xml', 'application/json; charset=utf-16'])
            for (const raw of new Set(['{}', JSON.stringify(body)]))
              await client.refused(id, 415, { path: path ?? {}, raw, headers: { 'content-type': type } })
        })

      if (takesJson)
        check(`${id}/rejects-text-that-is-not-json`, { source: ERRORS }, async () => {
          const { path } = goodRequest(id)
          const send = (raw: string | Uint8Array<ArrayBuffer>) =>
            client.refused(id, 422, { path: path ?? {}, raw, headers: { 'content-type': 'application/json' } })
          expect(await send('{"a": 1,}')).toMatchObject({ detail: [{ loc: ['body', '8'], type: 'json_invalid' }] })
          expect(await send(new Uint8Array([0x22, 0xff, 0x22]))).toMatchObject({
            detail: [{ loc: ['body', '1'], type: 'json_invalid' }],
          })
          expect(await send('['.repeat(10_000))).toMatchObject({ detail: [{ type: 'json_invalid' }] })
        })

      if (operation.requestBody?.required && takesJson)
        check(`${id}/rejects-a-missing-body`, { source: ERRORS }, async () => {
          const { path } = goodRequest(id)
          const refusal = await client.refused(id, 422, { path: path ?? {} })
          expect(refusal.detail).toEqual([{ loc: ['body'], msg: expect.any(String), type: 'missing' }])
        })
    })
  }
})
