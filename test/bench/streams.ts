import { readCpuMilliseconds, type ServerProcess, startBareStreams, startTrainyardStreams } from './server-process.ts'
import { readStream } from './stream-client.ts'
import { type Bench, LeftOut, type Trial } from './trial.ts'

const STREAMS = 200
/** Of each stream. */
const TOKENS = 100
/** The role, the last frame of the choice, and `[DONE]`. */
const OTHER_FRAMES = 3
const body = {
  model: 'tiny-chat',
  messages: [{ role: 'user', content: 'hello' }],
  max_completion_tokens: TOKENS,
}

/** Processor time that a token costs the server while many streams are open, against writing frames that are ready. */
export const streams: Bench = { name: 'streams', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  if (process.platform !== 'linux') throw new LeftOut('processor time is read from /proc, which only Linux has')
  const [ours, bare] = await Promise.all([startTrainyardStreams(), startBareStreams()])
  return {
    contestants: { ours: () => measure(ours), 'bare node:http': () => measure(bare) },
    comparisons: [
      {
        what: `processor time per token, ${STREAMS} streams, no-op engine`,
        unit: 'ms',
        ours: 'ours',
        peer: 'bare node:http',
        target: { atMost: 2 },
      },
    ],
    close: async () => {
      await Promise.all([ours.stop(), bare.stop()])
    },
  }
}

async function measure({ url, pid }: ServerProcess): Promise<number> {
  const before = await readCpuMilliseconds(pid)
  const read = await Promise.all(Array.from({ length: STREAMS }, () => readStream(url, body)))
  const used = (await readCpuMilliseconds(pid)) - before
  const wrong = read.find(({ frames }) => frames !== TOKENS + OTHER_FRAMES)
  if (wrong) throw new Error(`A stream had ${wrong.frames} frames`)
  return used / (STREAMS * TOKENS)
}
