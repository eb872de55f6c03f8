import { toRequest } from './connection.ts'
import { measureRate } from './load.ts'
import { API_KEY, startBare, startTrainyard } from './server-process.ts'
import type { Bench, Trial } from './trial.ts'

const LOAD = { connections: 32, seconds: 2 }
/** About 1 KB, as a short conversation is. */
const body = {
  model: 'tiny-chat',
  messages: [
    { role: 'system', content: 'You are a helpful assistant. '.repeat(10) },
    { role: 'user', content: 'Tell me something about the weather in spring. '.repeat(12) },
  ],
  max_completion_tokens: 100,
  temperature: 0.7,
}

/** Everything between the socket and the engine, against reading the same body and nothing else. */
export const chatRequests: Bench = { name: 'chat', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  const [ours, bare] = await Promise.all([startTrainyard(), startBare()])
  const headers = { authorization: `Bearer ${API_KEY}` }
  const chat = toRequest('POST', `${ours.url}/v1/chat/completions`, { headers, body })
  const parse = toRequest('POST', `${bare.url}/parse`, { headers, body })
  return {
    contestants: {
      ours: () => measureRate(ours.url, chat, LOAD),
      'bare Fastify, parsing': () => measureRate(bare.url, parse, LOAD),
    },
    comparisons: [
      {
        what: 'chat requests, no-op engine',
        unit: '/s',
        ours: 'ours',
        peer: 'bare Fastify, parsing',
        target: { atLeast: 0.5 },
      },
    ],
    close: async () => {
      await Promise.all([ours.stop(), bare.stop()])
    },
  }
}
