import { request } from 'node:http'
import { API_KEY } from './server-process.ts'

export interface ReadStream {
  /** Milliseconds from the request to the first frame with a generated token. Frames tell tokens where `return_token_ids` is set. */
  firstTokenMs: number
  /** Frames, `[DONE]` included. */
  frames: number
}

const FRAME = 'data: '
const DONE = 'data: [DONE]\n\n'
const FIRST_TOKEN = /"token_ids":\[\d/

/** Reads a streamed chat completion to its end. Throws at any status but 200 and at a stream that does not end with `[DONE]`. */
export function readStream(url: string, body: object): Promise<ReadStream> {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, response => {
      let text = ''
      let firstTokenMs = Number.NaN
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
        if (Number.isNaN(firstTokenMs) && FIRST_TOKEN.test(text)) firstTokenMs = performance.now() - start
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200 && text.endsWith(DONE))
          resolve({ firstTokenMs, frames: text.split(FRAME).length - 1 })
        else reject(new Error(`A stream was answered ${response.statusCode}: ${text.slice(-500)}`))
      })
    })
    sent.on('error', reject).end(JSON.stringify({ ...body, stream: true }))
  })
}
