/**
 * What the interface profile makes of other implementations: it blames no choice that the interface leaves open, and
 * finds what it does not.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { failsRun } from '../../src/contract/report/outcome.ts'
import type { RunReport } from '../../src/contract/run-report.ts'
import { type InProcess, startInProcess } from '../contract/in-process.ts'
import { runSuite } from '../contract/run-suite.ts'
import { changeJson, type Fault, type ZooReply } from '../zoo/fault.ts'
import { startFaultProxy } from '../zoo/fault-proxy.ts'

const RUN_TIMEOUT_MS = 120_000
const isJson = ({ headers }: ZooReply) => String(headers['content-type']).startsWith('application/json')

/**
 * Other statuses, error bodies of another form, more and fewer properties, no request ids, and none of our
 * extensions.
 */
const variant: Fault = {
  name: 'another-implementation',
  rule: 'none',
  breaks: 'nothing that the interface says',
  onReply: (reply, { method }, { operationId }) => {
    const { 'x-request-id': _, 'www-authenticate': __, ...headers } = reply.headers
    const other = { ...reply, headers }
    if (reply.status === 422)
      return changeJson<object>({ ...other, status: 400 }, body => ({ ...body, error: undefined }))
    if (reply.status >= 400) return changeJson(other, () => ({ message: 'no' }))
    if (!isJson(reply)) return other
    const status = method === 'POST' ? 201 : reply.status
    return changeJson<object>({ ...other, status }, body =>
      operationId === 'createModel' ? { ...body, extra: 1 } : { ...body, service_tier: undefined, extra: { a: 1 } },
    )
  },
}

const broken: Fault = {
  name: 'no-usage',
  rule: 'createChatCompletion: usage is required',
  breaks: 'the health check wants a key, and a completion does not tell its usage',
  onReply: (reply, { headers }, { operationId }) => {
    if (operationId === 'getHealth' && !headers.authorization) return { ...reply, status: 401 }
    if (operationId !== 'createChatCompletion' || reply.status !== 200) return reply
    return changeJson<object>(reply, completion => ({ ...completion, usage: undefined }))
  },
}

describe('in the interface profile', () => {
  let service: InProcess
  beforeAll(async () => {
    service = await startInProcess()
  })
  afterAll(() => service.close())

  async function run(fault: Fault): Promise<RunReport> {
    const proxy = await startFaultProxy(service.target, fault)
    try {
      return await runSuite({ ...proxy.target, profile: 'interface', mayTrain: false })
    } finally {
      await proxy.close()
    }
  }
  const failed = ({ results }: RunReport) => results.filter(failsRun).map(({ id, message }) => `${id}: ${message}`)

  it(
    'another implementation fails nothing, and is told what is otherwise',
    async () => {
      const report = await run(variant)
      expect(failed(report)).toEqual([])
      expect(report.findings.length).toBeGreaterThan(0)
      expect(report.findings.every(({ severity }) => severity === 'warn')).toBe(true)
      const { verdict, message } = report.results.find(({ id }) => id === 'listModels/keeps-to-the-contract')!
      expect({ verdict, message }).toEqual({ verdict: 'disabled', message: expect.stringContaining('interface') })
    },
    RUN_TIMEOUT_MS,
  )

  it(
    'what breaks the interface itself fails',
    async () => {
      const ids = failed(await run(broken)).map(line => line.slice(0, line.indexOf(':')))
      expect(ids).toEqual(
        expect.arrayContaining(['getHealth/answers-without-credentials', 'createChatCompletion/keeps-to-the-contract']),
      )
    },
    RUN_TIMEOUT_MS,
  )
})
