import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const API_KEY = 'bench-key-of-32-random-characters'
const ADDRESS = /http:\/\/[\w.:[\]]+/
export const root = join(import.meta.dirname, '..', '..')

export interface ServerProcess {
  url: string
  pid: number
  /** Ends the process and removes its folder. */
  stop(): Promise<void>
}

/** Our server with engines that compute nothing. */
export const startTrainyard = (environment: Record<string, string> = {}) =>
  startServer('test/bench/servers/trainyard.ts', environment)

/** Our server as `npm start` runs it. */
export const startWhole = (environment: Record<string, string> = {}) => startServer('src/cli.ts', environment)

/** A server of a few lines, to compare with. */
export const startBare = (environment: Record<string, string> = {}) =>
  startServer('test/bench/servers/bare.ts', environment)

/** Our server as `npm start` runs it, able to deliver to this machine, counting its requests: the file holds how many it got. */
export const startCounted = (file: string) =>
  startServer('test/bench/servers/trainyard-counted.ts', { COUNTS: file, WEBHOOK_ALLOW: '127.0.0.0/8' })

/** Our server with an engine that streams tokens and computes nothing. */
export const startTrainyardStreams = () => startServer('test/bench/servers/trainyard-streams.ts', {})

/** node:http that streams the same frames. */
export const startBareStreams = () => startServer('test/bench/servers/bare-streams.ts', {})

/** An endpoint for webhooks. */
export const startReceiver = () => startServer('test/bench/servers/receiver.ts', {})

/** Runs a server on a free port, with an empty data folder, and resolves when it has written its address to stderr. Its log goes nowhere. */
async function startServer(script: string, environment: Record<string, string>): Promise<ServerProcess> {
  const folder = await createFolder()
  const own = { PORT: '0', DATA_DIR: folder, API_KEY }
  const child = spawn(process.execPath, [script], {
    cwd: root,
    env: { ...process.env, ...own, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
    await removeFolder(folder)
  }
  try {
    return { url: await readAddress(child), pid: child.pid!, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

export function createFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'trainyard-bench-'))
}

export function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true })
}

function readAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const address = ADDRESS.exec(said)
      if (address && said.includes('\n', address.index)) resolve(address[0])
    })
    child.once('exit', () => reject(new Error(`The server ended before it listened: ${said}`)))
  })
}

/** Resident memory of a process in MB. Linux only. */
export async function readResidentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024
}

/** Processor time of all threads of a process so far, in steps of 10 ms. Linux only. */
export async function readCpuMilliseconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // the fields after the name, which may hold spaces: proc(5) counts utime as the 14th of all, stime as the 15th
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Calls our server and gives back what it answers. Throws at any other status than 200. */
export async function request<Answer>(method: string, url: string, body?: unknown): Promise<Answer> {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
  if (!response.ok) throw new Error(`${method} ${url} was answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}
