/**
 * Checks, the parts that the suite is made of. A check says what it is about (its id), which statement of the contract it comes from
 * (its source), how strong that statement is, and what it needs of a deployment. Contract files declare them within sections:
 *
 *   section('Models', { needs: ['memory'] }, () => {
 *     check('getModel/gives-what-was-created', async () => { ... })
 *   })
 *
 * A section's function runs anew for each deployment that is judged, so what it computes may depend on the deployment.
 */

import { operationById } from '../spec/document.ts'

/** MUST: breaking it makes a deployment wrong. SHOULD: it is worth a warning (RFC 2119). */
export type Level = 'MUST' | 'SHOULD'

/** What a deployment, or the command line, must offer for a check to be run; without it the check is skipped, and says why. */
export type Need = keyof typeof NEEDS

/** The reasons, as the report gives them. */
export const NEEDS = {
  memory: 'a mock keeps nothing and computes nothing',
  'second-key': 'no key of another team was given (--second-api-key)',
  training: 'training was switched off (--no-training)',
  retries: 'waiting for retries was switched off (--no-retries)',
  receiver: 'the deployment cannot reach this machine (--webhook-public-url)',
  'team-admin': 'the key is not of an admin of its team',
  inside: 'it needs faults put into the process of the service: only the in-process run has them',
  writes: 'nothing may be written (--read-only)',
  everything: 'some checks were left out',
} as const

export interface CheckOptions {
  /**
   * The statement it comes from: a JSON pointer into the contract, with the heading of a section of a description after `#`, such as
   * `/info/description#Errors`. Default: the description of the operation that the id begins with.
   */
  source?: string
  level?: Level
  needs?: readonly Need[]
  /** In milliseconds. */
  timeout?: number
  /** Judges what the others led to, so it runs when they have ended. */
  last?: boolean
}

export interface Check {
  /** `<operationId or topic>/<rule>`. */
  id: string
  source: string
  level: Level
  needs: readonly Need[]
  timeoutMs: number
  isLast: boolean
  run(): Promise<void>
}

type Run = () => void | Promise<void>

const DEFAULT_TIMEOUT_MS = 60_000

const sections: { options: CheckOptions; build: () => void }[] = []
let collected: Check[] | null = null
let inherited: CheckOptions = {}

/** Checks that share a source or needs. Within another section, its needs are added to that one's. */
export function section(_name: string, options: CheckOptions, build: () => void): void {
  if (!collected) {
    sections.push({ options, build })
    return
  }
  const outer = inherited
  inherited = { ...outer, ...options, needs: [...(outer.needs ?? []), ...(options.needs ?? [])] }
  try {
    build()
  } finally {
    inherited = outer
  }
}

/** Declares a check; only within a section. */
export function check(id: string, ...rest: [Run] | [CheckOptions, Run]): void {
  if (!collected) throw new Error(`The check ${id} stands outside of any section`)
  const run = rest.at(-1) as Run
  const options = rest.length === 2 ? rest[0] : {}
  const { source, level, timeout, last } = { ...inherited, ...options }
  collected.push({
    id,
    source: source ?? `${operationById(id.slice(0, id.indexOf('/'))).pointer}/description`,
    level: level ?? 'MUST',
    needs: [...(inherited.needs ?? []), ...(options.needs ?? [])],
    timeoutMs: timeout ?? DEFAULT_TIMEOUT_MS,
    isLast: last ?? false,
    run: async () => run(),
  })
}

/** One check for each case, whose first value, a name, stands for `%s` in the id. */
export function checkEach<Case extends readonly [name: string, ...unknown[]]>(cases: readonly Case[]) {
  return (id: string, run: (...values: Case) => void | Promise<void>): void => {
    for (const values of cases) check(id.replace('%s', values[0]), () => run(...values))
  }
}

/** Every check of the contract files that were imported, for the deployment as it is configured now. Throws where two have one id. */
export function collectChecks(): Check[] {
  collected = []
  try {
    for (const { options, build } of sections) section('', options, build)
    const seen = new Set<string>()
    for (const { id } of collected) {
      if (seen.has(id)) throw new Error(`Two checks are named ${id}`)
      seen.add(id)
    }
    return [...collected.filter(one => !one.isLast), ...collected.filter(one => one.isLast)]
  } finally {
    collected = null
    inherited = {}
  }
}

/** Thrown by a check that finds that it has nothing to judge here; the message is the reason. */
export class SkipError extends Error {
  override name = 'SkipError' as const
}
