/** The service of this very checkout, in this process, on a free port and under a path prefix. */
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '../../src/app.ts'
import type { Settings } from '../../src/config.ts'
import { readSettings } from '../../src/config.ts'
import type { Service } from '../../src/context.ts'
import { NOTHING_GIVEN, type Target } from '../../src/contract/target.ts'
import { closeService, createService, ensureFirstKey } from '../../src/service.ts'
import type { Handlers } from '../../src/spec/handler.ts'
import { addKey } from '../../src/storage/keys.ts'

const API_KEY = 'contract-tests-first-key-0123456789abcdef'
const SECOND_API_KEY = 'contract-tests-second-key-0123456789abcdef'
const BASE_PATH = '/some/prefix'
/** The suite is the receiver of deliveries, on this machine. */
const WEBHOOKS = {
  WEBHOOK_ALLOW: '127.0.0.0/8',
  // Shorter waits, of the same kind.
  WEBHOOK_RETRY_SCHEDULE: '0s,1s,1s',
  WEBHOOK_STANDARD_HEADERS: '1',
}
const JOB_TIMEOUT_MS = 120_000

export interface FrontOptions {
  handlers?: Handlers
  settings?: Partial<Settings>
  parts?: Partial<Service>
  isDraining?: boolean
}

export interface InProcess {
  target: Target
  service: Service
  /** The address of one more front to the same service, with some of its parts replaced. */
  openFront(options: FrontOptions): Promise<string>
  close(): Promise<void>
}

export async function startInProcess(): Promise<InProcess> {
  const dataDir = await mkdtemp(join(tmpdir(), 'contract-'))
  const environment = { DATA_DIR: dataDir, API_KEY, BASE_PATH, LOG_LEVEL: 'silent', STRICT: '1', ...WEBHOOKS }
  const service = await createService(readSettings(environment))
  await ensureFirstKey(service)
  await addKey(service.database, {
    value: SECOND_API_KEY,
    user: 'other',
    team: 'other',
    role: 'admin',
    name: 'second key',
  })
  const closers: (() => Promise<void>)[] = []

  async function openFront({ handlers, settings, parts, isDraining }: FrontOptions): Promise<string> {
    const app = await createApp({ ...service, ...parts, settings: { ...service.settings, ...settings } }, handlers)
    await app.fastify.listen({ host: '127.0.0.1', port: 0 })
    if (isDraining) app.drain()
    closers.push(() => app.fastify.close())
    return `http://127.0.0.1:${(app.fastify.server.address() as AddressInfo).port}${BASE_PATH}`
  }

  const baseUrl = await openFront({})
  service.jobs.start()
  service.deliveries.start()
  return {
    target: {
      baseUrl,
      inferenceUrl: `${baseUrl}/v1`,
      apiKey: API_KEY,
      secondApiKey: SECOND_API_KEY,
      basic: `api:${API_KEY}`,
      baseModel: 'tiny-chat',
      isMock: false,
      jobTimeoutMs: JOB_TIMEOUT_MS,
      profile: 'full',
      project: null,
      isReadOnly: false,
      given: NOTHING_GIVEN,
      mayTrain: true,
      mayRetry: true,
      receiver: { publicUrl: null, port: 0 },
    },
    service,
    openFront,
    async close() {
      for (const close of closers) await close()
      await closeService(service)
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
