import { execFile } from 'node:child_process'
import { installedFile } from './package-paths.ts'

const outputLimitBytes = 64 * 1024 * 1024
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }

export type RedoclyResult = { exitCode: number; stdout: string; stderr: string }

/** Runs the Redocly command line in `folder`, whose redocly.yaml it reads, with the Node that runs this script. */
export const runRedocly = (folder: string, args: string[]): Promise<RedoclyResult> =>
  new Promise((resolve, reject) => {
    const command = [installedFile('@redocly/cli/bin/cli.js'), ...args]
    const settings = { cwd: folder, env: { ...process.env, ...quiet }, maxBuffer: outputLimitBytes }
    execFile(process.execPath, command, settings, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') reject(error)
      else resolve({ exitCode: Number(error?.code ?? 0), stdout, stderr })
    })
  })

/** As `runRedocly`, but a failure is thrown with what Redocly said. */
export const mustRunRedocly = async (folder: string, args: string[]): Promise<RedoclyResult> => {
  const result = await runRedocly(folder, args)
  if (result.exitCode === 0) return result
  throw new Error(`redocly ${args[0]} failed:\n${result.stdout}${result.stderr}`.trimEnd())
}
