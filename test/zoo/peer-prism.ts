/** prism as a proxy: it judges the traffic that passes through it, and tells what it found in a header of each response. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installedFile } from '../../src/generate/package-paths.ts'
import { contractDocument } from '../../src/spec/document.ts'
import { type PeerRequest, toFetch } from './peer-requests.ts'

export interface PrismProxy {
  /** What it says about the responses to these requests, each finding with the request's name. */
  judge(requests: readonly PeerRequest[]): Promise<string[]>
  close(): Promise<void>
}

const START_LIMIT_MS = 60_000
const REPLY_LIMIT_MS = 10_000

interface Violation {
  location?: string[]
  code?: string | number
  message: string
}

/** `upstream` is the address of the deployment, `folder` one for the document. Throws where prism does not start. */
export async function startPrismProxy(upstream: string, folder: string): Promise<PrismProxy> {
  const file = join(folder, 'prism.json')
  await writeFile(file, JSON.stringify(contractDocument))
  const script = installedFile('@stoplight/prism-cli/dist/index.js')
  const words = [script, 'proxy', file, upstream, '--host', '127.0.0.1', '--port', '0', '--errors', 'false']
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const kill = () => child.kill()
  process.once('exit', kill)
  const url = await readAddress(child)
  return {
    async judge(requests) {
      const findings: string[] = []
      for (const request of requests) findings.push(...(await judgeOne(request, url)))
      return findings
    },
    async close() {
      process.off('exit', kill)
      child.kill()
      await once(child, 'exit')
    },
  }
}

async function judgeOne(request: PeerRequest, address: string): Promise<string[]> {
  const [url, init] = toFetch(request, address)
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(REPLY_LIMIT_MS) })
    const text = await response.text()
    // A response that it could not read is answered by prism itself.
    const own = text.includes('stoplight.io/prism/errors') ? [`${request.name}: no response that can be read`] : []
    const violations = JSON.parse(response.headers.get('sl-violations') ?? '[]') as Violation[]
    const found = violations.filter(({ location }) => location?.[0] === 'response')
    return [...own, ...found.map(({ location, code }) => `${request.name}: ${location!.join('.')} ${code}`)]
  } catch {
    return [`${request.name}: no response`]
  }
}

function readAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = ''
    const timer = setTimeout(() => reject(new Error(`prism did not start in time:\n${output}`)), START_LIMIT_MS)
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-4096)
      const address = /Prism is listening on (http:\S+)/.exec(output)?.[1]
      if (!address) return
      clearTimeout(timer)
      resolve(address)
    })
    child.once('exit', code => reject(new Error(`prism ended with ${code}:\n${output}`)))
  })
}
