/** The tools that the zoos are tried on, each as a function from a deployment to what it finds there. */

import { readFileSync } from 'node:fs'
import { installedFile } from '../../src/generate/package-paths.ts'
import { toPeerDocument } from './peer-document.ts'
import { DREDD_OPENAPI, findDredd, runDredd } from './peer-dredd.ts'
import { type PrismProxy, startPrismProxy } from './peer-prism.ts'
import { type PeerExample, toRequests } from './peer-requests.ts'
import { runRespect } from './peer-respect.ts'
import { findSchemathesis, runSchemathesis } from './peer-schemathesis.ts'
import { startSwitchableFront } from './switchable-front.ts'

export interface PeerTool {
  name: string
  version: string
  /** What it finds at an address, in words that are the same whenever it finds the same. Throws where it comes to nothing. */
  judge(url: string, apiKey: string, examples: readonly PeerExample[]): Promise<string[]>
}

export interface PeerTools {
  tools: PeerTool[]
  /** Why others are not among them. */
  missing: string[]
  close(): Promise<void>
}

export const SCHEMATHESIS_EXAMPLES = 10
export const SCHEMATHESIS_PHASES = ['examples', 'coverage', 'stateful']
const SCHEMATHESIS_LIMIT_MS = 90_000

/** `basePath` is where every deployment stands at its address; `folder` is for files that must stay. */
export async function startPeerTools(basePath: string, folder: string): Promise<PeerTools> {
  const front = await startSwitchableFront()
  const prism = await startPrismProxy(front.origin + basePath, folder)
  const found = await Promise.allSettled([toSchemathesis(), toDredd()])
  const others = [
    { name: 'prism proxy', version: versionOf('@stoplight/prism-cli'), judge: toPrismJudge(prism, front.pointAt) },
    { name: 'redocly respect', version: versionOf('@redocly/cli'), judge: judgeByRespect },
  ]
  return {
    tools: [...found.flatMap(one => (one.status === 'fulfilled' ? [one.value] : [])), ...others],
    missing: found.flatMap(one => (one.status === 'rejected' ? [(one.reason as Error).message] : [])),
    async close() {
      await prism.close()
      await front.close()
    },
  }
}

async function toSchemathesis(): Promise<PeerTool> {
  const { program, version } = await findSchemathesis()
  const how = { program, examples: SCHEMATHESIS_EXAMPLES, phases: SCHEMATHESIS_PHASES, limitMs: SCHEMATHESIS_LIMIT_MS }
  return {
    ...{ name: 'schemathesis', version },
    async judge(url, apiKey, examples) {
      return (await runSchemathesis({ ...how, url, apiKey, document: toPeerDocument(examples) })).findings
    },
  }
}

async function toDredd(): Promise<PeerTool> {
  const { program, version } = await findDredd()
  return {
    ...{ name: 'dredd', version },
    async judge(url, apiKey, examples) {
      const known = withoutForms(examples)
      return known.length === 0 ? [] : runDredd(program, url, apiKey, toPeerDocument(known, DREDD_OPENAPI))
    },
  }
}

function toPrismJudge(prism: PrismProxy, pointAt: (origin: string) => void): PeerTool['judge'] {
  return (url, apiKey, examples) => {
    pointAt(url)
    return prism.judge(toRequests(examples, apiKey))
  }
}

async function judgeByRespect(url: string, apiKey: string, examples: readonly PeerExample[]): Promise<string[]> {
  const known = withoutForms(examples)
  return known.length === 0 ? [] : runRespect(url, toPeerDocument(known), toRequests(known, apiKey))
}

/** Neither dredd nor respect can be told the parts of a form by a document alone. */
function withoutForms(examples: readonly PeerExample[]): PeerExample[] {
  return examples.filter(({ form }) => form === undefined)
}

function versionOf(name: string): string {
  return (JSON.parse(readFileSync(installedFile(`${name}/package.json`), 'utf8')) as { version: string }).version
}
