/** `trainyard contract`: the contract tests against any deployment, with reports of what they found. */
import { readFile } from 'node:fs/promises'
import { runCleanup } from './cleanup.ts'
import { describeRun } from './dry-run.ts'
import { type ExpectedFailures, parseExpectedFailures } from './expected-failures.ts'
import { type ContractCommand, type RunCommand, readCommand, USAGE } from './options.ts'
import { reach } from './reach.ts'
import { failsRun } from './report/outcome.ts'
import { createTerminalReport } from './report/terminal.ts'
import { writeReports } from './report/write-reports.ts'
import type { RunReport } from './run-report.ts'
import { tagsOf } from './select-checks.ts'

/** 0: no check failed; 1: one did; 2: the run could not start, reach the deployment or end; 3: bad usage. */
export type ExitCode = 0 | 1 | 2 | 3

/** Runs what the command line says and resolves with the exit code. Prints to stdout and stderr. */
export async function runContract(args: readonly string[]): Promise<ExitCode> {
  let command: ContractCommand
  try {
    command = readCommand(args, process.env)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`)
    return 3
  }
  try {
    switch (command.command) {
      case 'help':
        process.stdout.write(command.text)
        return 0
      case 'cleanup':
        return await runCleanup(command)
      default:
        return await runChecks(command)
    }
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`${error.message}\n`)
      return 3
    }
    process.stderr.write(`The run could not be carried out: ${(error as Error).stack}\n`)
    return 2
  }
}

/** Found to be bad usage only when the checks are known. */
class UsageError extends Error {
  override name = 'UsageError' as const
}

async function runChecks(command: RunCommand): Promise<ExitCode> {
  const { selection, target } = command
  const { planSuite, runSuite } = await import('../../test/contract/run-suite.ts')
  const { isMet, withPrepared } = await import('../../test/contract/setup.ts')
  const { checks, leftOut } = planSuite(target, selection)
  const chosen = checks.filter(({ id }) => !leftOut.has(id))
  if (chosen.length === 0)
    throw new UsageError(`No check is named or tagged so; the tags are ${tagsOf(checks).join(', ')}`)
  if (command.command === 'list') {
    process.stdout.write(`${chosen.map(({ id, level, tag }) => `${level.padEnd(6)}  ${tag}  ${id}`).join('\n')}\n`)
    return 0
  }
  if (command.command === 'dry-run') {
    const { countOf } = await import('../../test/contract/known-requests.ts')
    const isMetHere = (need: Parameters<typeof isMet>[0]) => isMet(need, leftOut.size === 0)
    const text = describeRun(chosen.map(withPrepared), { countOf, isMet: isMetHere, target })
    process.stdout.write(`${text}\n`)
    return 0
  }
  const expected = await readExpected(command, new Set(checks.map(({ id }) => id)))
  const { trouble, isPrism, requests } = await reach(target)
  if (trouble) {
    process.stderr.write(`${trouble}\n`)
    return 2
  }
  const { signal, release } = catchSignals()
  const report = await runSuite(
    { ...target, isMock: target.isMock || isPrism },
    {
      ...command,
      sentBefore: requests,
      expected,
      listener: createTerminalReport(process.stdout),
      signal,
    },
  ).finally(release)
  for (const path of await writeReports(report, command.files)) process.stdout.write(`Written: ${path}\n`)
  return toExitCode(report, signal)
}

async function readExpected({ expectedFailures }: RunCommand, known: ReadonlySet<string>): Promise<ExpectedFailures> {
  if (expectedFailures === null) return new Map()
  try {
    return parseExpectedFailures(await readFile(expectedFailures, 'utf8'), known)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function toExitCode({ results }: RunReport, signal: AbortSignal): ExitCode {
  if (results.some(failsRun)) return 1
  return signal.aborted ? 2 : 0
}

/** The first signal ends the run in order, the second at once. */
function catchSignals(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(2)
    process.stderr.write(`\n${name}: cleaning up; once more ends at once, and then \`cleanup\` is needed\n`)
    controller.abort(`it was stopped by ${name}`)
  }
  const names: NodeJS.Signals[] = ['SIGINT', 'SIGTERM']
  for (const name of names) process.on(name, onSignal)
  return {
    signal: controller.signal,
    release() {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
