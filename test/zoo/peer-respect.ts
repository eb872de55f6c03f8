/** redocly respect, which sends the requests of an Arazzo document and judges the responses by the contract, as a process. */
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installedFile } from '../../src/generate/package-paths.ts'
import type { PeerRequest } from './peer-requests.ts'

const LIMIT_MS = 120_000
const SOURCE = 'contract'

interface Log {
  files: Record<string, { executedWorkflows: { workflowId: string; executedSteps: LoggedStep[] }[] }>
}

interface LoggedStep {
  checks?: { name: string; status: string }[]
}

/** What failed, each as the request's name and the check. Throws where respect itself came to nothing. */
export async function runRespect(url: string, document: unknown, requests: readonly PeerRequest[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'respect-'))
  try {
    await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
    await writeFile(join(folder, 'requests.arazzo.json'), JSON.stringify(toArazzo(requests)))
    const words = ['respect', 'requests.arazzo.json', '--json-output', 'log.json', '--server', `${SOURCE}=${url}`]
    const script = installedFile('@redocly/cli/bin/cli.js')
    const environment = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const options = { cwd: folder, timeout: LIMIT_MS, maxBuffer: Number.POSITIVE_INFINITY, env: environment }
    const said = await promisify(execFile)(process.execPath, [script, ...words], options).catch(error => error)
    const log = await readFile(join(folder, 'log.json'), 'utf8').catch(() => {
      throw new Error(`respect came to no end:\n${said.stdout}\n${said.stderr}`)
    })
    return toFindings(JSON.parse(log) as Log)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function toFindings({ files }: Log): string[] {
  const workflows = Object.values(files).flatMap(({ executedWorkflows }) => executedWorkflows)
  return workflows.flatMap(({ workflowId, executedSteps }) =>
    executedSteps
      .flatMap(({ checks = [] }) => checks)
      .filter(({ status }) => status === 'error')
      .map(({ name }) => `${workflowId}: ${name}`),
  )
}

/** A workflow for each request, since one ends with its first step that fails. */
function toArazzo(requests: readonly PeerRequest[]) {
  return {
    arazzo: '1.0.1',
    info: { title: 'Known requests', version: '1.0.0' },
    sourceDescriptions: [{ name: SOURCE, type: 'openapi', url: 'openapi.json' }],
    workflows: requests.map(request => ({ workflowId: request.name, steps: [toStep(request)] })),
  }
}

function toStep({ operation, path, query, headers, body, expected }: PeerRequest) {
  const toParameters = (place: string, values: Record<string, string | number>) =>
    Object.entries(values).map(([name, value]) => ({ in: place, name, value }))
  const parameters = [
    ...toParameters('path', path),
    ...toParameters('query', query),
    ...toParameters('header', headers),
  ]
  return {
    stepId: 'send',
    operationId: `$sourceDescriptions.${SOURCE}.${operation.operationId}`,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body === undefined ? {} : { requestBody: { contentType: 'application/json', payload: body } }),
    successCriteria: [{ condition: `$statusCode == ${expected}` }],
  }
}
