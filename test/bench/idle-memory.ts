import { setTimeout as sleep } from 'node:timers/promises'
import { readResidentMegabytes, request, startBare, startWhole } from './server-process.ts'
import { type Bench, LeftOut, type Trial } from './trial.ts'

/** What comes after the last request, such as giving memory back, is over by then. */
const SETTLE_MS = 5000

/** Resident memory of an idle server that has answered one request: ours by its model. */
export const idleMemory: Bench = { name: 'memory', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  if (process.platform !== 'linux') throw new LeftOut('resident memory is read from /proc, which only Linux has')
  return {
    contestants: { ours: measureOurs, 'bare Fastify': measureBare },
    comparisons: [
      {
        what: 'idle resident memory, tiny-chat loaded',
        unit: 'MB',
        ours: 'ours',
        peer: 'bare Fastify',
        target: { atMost: 4 },
      },
    ],
    close: async () => {},
  }
}

async function measureOurs(): Promise<number> {
  const server = await startWhole()
  try {
    const messages = [{ role: 'user', content: 'hello' }]
    await request('POST', `${server.url}/v1/chat/completions`, {
      model: 'tiny-chat',
      messages,
      max_completion_tokens: 20,
    })
    await sleep(SETTLE_MS)
    return await readResidentMegabytes(server.pid)
  } finally {
    await server.stop()
  }
}

async function measureBare(): Promise<number> {
  const server = await startBare()
  try {
    await (await fetch(`${server.url}/v1/health`)).text()
    await sleep(SETTLE_MS)
    return await readResidentMegabytes(server.pid)
  } finally {
    await server.stop()
  }
}
