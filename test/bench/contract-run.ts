/**
 * A whole run of the contract suite, without training and without waiting for deliveries that are sent again, against schemathesis in
 * all its phases with few examples: each as a user runs it, as a process, on a server with nothing in it.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { contractDocument } from '../../src/spec/document.ts'
import { findSchemathesis, runSchemathesis } from '../zoo/peer-schemathesis.ts'
import { API_KEY, createFolder, removeFolder, root, startCounted } from './server-process.ts'
import { type Bench, LeftOut, type Trial } from './trial.ts'

/** Of schemathesis, for each operation: it takes a hundred if it is not told. */
const EXAMPLES = 10
/** After which the server has written down every request that it got. In milliseconds. */
const COUNTING_MS = 500

export const contractRun: Bench = { name: 'contract-run', trials: [openTrial] }

async function openTrial(): Promise<Trial> {
  const { program, version } = await findSchemathesis().catch(error => {
    throw new LeftOut(error.message)
  })
  const peer = `schemathesis ${version}`
  const requests: Record<string, number> = {}
  const runSchemathesisAt = async (url: string) => {
    const task = { program, url, apiKey: API_KEY, document: contractDocument, examples: EXAMPLES }
    return (await runSchemathesis(task)).milliseconds
  }
  const measured = (name: string, run: (url: string) => Promise<number>) => async () => {
    const measurement = await measure(run)
    requests[name] = measurement.requests
    return measurement.milliseconds
  }
  return {
    contestants: { ours: measured('ours', runSuite), [peer]: measured(peer, runSchemathesisAt) },
    comparisons: [
      {
        ...{ what: 'contract run', unit: 'ms', ours: 'ours', peer, target: { atMost: 0.5 } },
        beside: name => `, ${requests[name]!.toLocaleString('en')} requests`,
      },
    ],
    close: async () => {},
  }
}

/** On a server of its own each time, for schemathesis deletes what it finds, even the key that it was given. Starting it is not measured. */
async function measure(run: (url: string) => Promise<number>): Promise<{ milliseconds: number; requests: number }> {
  const folder = await createFolder()
  const counts = join(folder, 'requests')
  const server = await startCounted(counts)
  try {
    const milliseconds = await run(server.url)
    await sleep(COUNTING_MS)
    return { milliseconds, requests: Number(await readFile(counts, 'utf8')) }
  } finally {
    await server.stop()
    await removeFolder(folder)
  }
}

/** Throws where a check failed: a suite that stops early would be a fast one. */
async function runSuite(url: string): Promise<number> {
  const words = ['src/cli.ts', 'contract', '--base-url', url, '--no-training', '--no-retries']
  const start = performance.now()
  await promisify(execFile)(process.execPath, words, { cwd: root, env: { ...process.env, API_KEY } }).catch(error => {
    throw new Error(`The suite ended with ${error.code}:\n${error.stdout}${error.stderr}`)
  })
  return performance.now() - start
}
