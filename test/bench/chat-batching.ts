import { Connection, toRequest } from './connection.ts'
import { quantile } from './load.ts'
import { API_KEY, startWhole } from './server-process.ts'
import { readStream } from './stream-client.ts'
import type { Bench, Trial } from './trial.ts'

/** Of each chat, whatever the model says. */
const TOKENS = 64
const TOGETHER = 32
/** Chats of one measurement: one after the other, and together. */
const CHATS_ALONE = 16
const CHATS_TOGETHER = 128
const STREAMS = 64
/** One after the other, by each of those that stream at once. */
const STREAMS_EACH = 3

/** How the embedded engine shares itself among chats, through the whole server as `npm start` runs it. */
export const chatBatching: Bench = { name: 'batching', trials: [openThroughput, openFirstToken] }

async function openThroughput(): Promise<Trial> {
  const server = await startWhole()
  const together = `${TOGETHER} at once`
  return {
    contestants: {
      [together]: () => measureTokens(server.url, TOGETHER, CHATS_TOGETHER),
      'one at a time': () => measureTokens(server.url, 1, CHATS_ALONE),
    },
    comparisons: [
      {
        what: `chats of ${TOKENS} tokens, ${together}`,
        unit: 'tokens/s',
        ours: together,
        peer: 'one at a time',
        target: { atLeast: 4 },
      },
    ],
    close: server.stop,
  }
}

async function openFirstToken(): Promise<Trial> {
  const server = await startWhole()
  // both quantiles of a round are of the same streams
  let kept: Promise<number[]> | null = null
  const measure = async (share: number) => {
    const delays = kept ?? measureFirstTokens(server.url)
    kept = kept ? null : delays
    return quantile(await delays, share)
  }
  return {
    contestants: { p99: () => measure(0.99), p50: () => measure(0.5) },
    comparisons: [
      {
        what: `time to first token, ${STREAMS} at once, p99`,
        unit: 'ms',
        ours: 'p99',
        peer: 'p50',
        target: { atMost: 10 },
      },
    ],
    close: server.stop,
  }
}

/** Tokens generated in a second by so many connections that chat one request at a time. */
async function measureTokens(url: string, connections: number, chats: number): Promise<number> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(url)))
  const headers = { authorization: `Bearer ${API_KEY}` }
  let left = chats
  const start = performance.now()
  await Promise.all(
    open.map(async connection => {
      while (left-- > 0) {
        const request = toRequest('POST', `${url}/v1/chat/completions`, { headers, body: toBody() })
        const status = await connection.send(request)
        if (status !== 200) throw new Error(`A chat was answered ${status}`)
      }
    }),
  )
  const seconds = (performance.now() - start) / 1000
  for (const connection of open) connection.close()
  return (chats * TOKENS) / seconds
}

async function measureFirstTokens(url: string): Promise<number[]> {
  const delays = await Promise.all(
    Array.from({ length: STREAMS }, async () => {
      const own: number[] = []
      while (own.length < STREAMS_EACH) {
        const { firstTokenMs } = await readStream(url, { ...toBody(), return_token_ids: true })
        own.push(firstTokenMs)
      }
      return own
    }),
  )
  return delays.flat()
}

let asked = 0

/** A chat of its own, so that no prompt is cached as a whole. */
function toBody() {
  const content = `${asked++} is the number of this question; respond with yes, no or maybe`
  return { model: 'tiny-chat', messages: [{ role: 'user', content }], max_completion_tokens: TOKENS, ignore_eos: true }
}
