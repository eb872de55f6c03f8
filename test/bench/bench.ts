/**
 * Compares Trainyard with its peers and prints one table. Machines differ and are busy, so figures are ratios of medians of
 * interleaved rounds; nothing is gated on them.
 *
 *   npm run bench -- [--only NAME]... [--rounds N]
 */
import { parseArgs } from 'node:util'
import ora, { type Ora } from 'ora'
import { automationMatching } from './automation-matching.ts'
import { chatBatching } from './chat-batching.ts'
import { chatRequests } from './chat-requests.ts'
import { constrained } from './constrained.ts'
import { contractRun } from './contract-run.ts'
import { deliveries } from './deliveries.ts'
import { generation } from './generation.ts'
import { idleMemory } from './idle-memory.ts'
import { jobCreations } from './job-creations.ts'
import { largeBodies } from './large-bodies.ts'
import { startTime } from './start-time.ts'
import { streams } from './streams.ts'
import { toTable } from './table.ts'
import { training } from './training.ts'
import { type Bench, LeftOut, type Result, runTrial } from './trial.ts'

const BENCHES = [
  training,
  generation,
  constrained,
  chatBatching,
  chatRequests,
  streams,
  jobCreations,
  deliveries,
  largeBodies,
  startTime,
  idleMemory,
  automationMatching,
  contractRun,
]
const DEFAULT_ROUNDS = 5

const { rounds, benches } = readOptions()
const results: Result[] = []
const notes: string[] = []
for (const bench of benches) {
  const spinner = ora(bench.name).start()
  try {
    results.push(...(await runBench(bench, text => report(spinner, `${bench.name}: ${text}`))))
    spinner.succeed(bench.name)
  } catch (error) {
    if (error instanceof LeftOut) {
      spinner.warn(`${bench.name}: left out`)
      notes.push(`${bench.name} is left out: ${error.message}`)
    } else {
      spinner.fail(`${bench.name}: failed`)
      notes.push(`${bench.name} failed: ${(error as Error).stack}`)
      process.exitCode = 1
    }
  }
}
const parts = results.length > 0 ? [toTable(results), ...notes] : notes
process.stdout.write(`\n${parts.join('\n')}\n`)

/** Where there is no terminal a spinner would stay silent. */
function report(spinner: Ora, text: string): void {
  if (process.stderr.isTTY) spinner.text = text
  else process.stderr.write(`${text}\n`)
}

async function runBench({ trials }: Bench, onRound: (text: string) => void): Promise<Result[]> {
  const found: Result[] = []
  for (const open of trials) {
    const trial = await open()
    try {
      found.push(...(await runTrial(trial, rounds, onRound)))
    } finally {
      await trial.close()
    }
  }
  return found
}

function readOptions(): { rounds: number; benches: Bench[] } {
  const { values } = parseArgs({ options: { only: { type: 'string', multiple: true }, rounds: { type: 'string' } } })
  const rounds = Number(values.rounds ?? DEFAULT_ROUNDS)
  if (!Number.isInteger(rounds) || rounds < 1)
    refuse(`--rounds must be a whole number of at least 1, not ${values.rounds}`)
  const names = BENCHES.map(({ name }) => name)
  const unknown = values.only?.find(name => !names.includes(name))
  if (unknown !== undefined) refuse(`There is no bench named ${unknown}; there are ${names.join(', ')}`)
  return { rounds, benches: BENCHES.filter(({ name }) => values.only?.includes(name) ?? true) }
}

function refuse(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
