import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface ServerProcess {
  url: string
  /** Ends the process and resolves when it is gone. SIGKILL leaves it no time for anything. */
  end(signal: NodeJS.Signals): Promise<void>
}

const ROOT = `${import.meta.dirname}/../..`
const START_LIMIT_MS = 60_000

/** Starts `trainyard serve` as a process of its own, on a free port, and resolves when it tells its address. */
export async function startServerProcess(environment: Record<string, string>): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['src/cli.ts', 'serve'], {
    cwd: ROOT,
    env: {
      ...process.env,
      HOST: '127.0.0.1',
      PORT: '0',
      LOG_LEVEL: 'silent',
      NO_COLOR: '1',
      FORCE_COLOR: undefined,
      ...environment,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
  try {
    return { url: await readAddress(child), end }
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
}

async function readAddress(child: ChildProcess): Promise<string> {
  const said: string[] = []
  const timer = setTimeout(() => child.kill('SIGKILL'), START_LIMIT_MS)
  try {
    for await (const line of createInterface({ input: child.stderr! })) {
      said.push(line)
      const address = /serves at (\S+)/.exec(line)?.[1]
      if (address) return address
    }
    throw new Error(`the server ended before it served:\n${said.join('\n')}`)
  } finally {
    clearTimeout(timer)
    // what else it says must not fill the pipe
    child.stderr!.resume()
  }
}
