import { type ServerProcess, startBare, startWhole } from './server-process.ts'
import type { Bench, Trial } from './trial.ts'

/** From starting the process to its first answer to a health check. */
export const startTime: Bench = { name: 'start', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  return {
    contestants: { ours: () => measureStart(startWhole), 'bare Fastify': () => measureStart(startBare) },
    comparisons: [
      { what: 'start to first health answer', unit: 'ms', ours: 'ours', peer: 'bare Fastify', target: { atMost: 4 } },
    ],
    close: async () => {},
  }
}

async function measureStart(start: () => Promise<ServerProcess>): Promise<number> {
  const begun = performance.now()
  const server = await start()
  try {
    const response = await fetch(`${server.url}/v1/health`)
    await response.text()
    return performance.now() - begun
  } finally {
    await server.stop()
  }
}
