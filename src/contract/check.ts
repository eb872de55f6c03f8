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

import { type Operation, operationById, operations } from '../spec/document.ts'

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
  'paid-plan': 'the plan of the team has no webhooks and no automations',
  inside: 'it needs faults put into the process of the service: only the in-process run has them',
  writes: 'nothing may be written (--read-only)',
  home: 'no model was given (--model-id)',
  job: 'no training job was given (--training-job-id)',
  'own-project': 'it needs projects of its own, and one was given (--project)',
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
  /** It uses the model that checks share. Default: unless the operation that the id begins with takes nothing. */
  home?: boolean
  /** Of a section: its checks build upon each other, so they run one after the other, and one is never run without those before it. */
  flow?: boolean
  /** What its checks share, such as names of things: those of one tag that share it never run at once. */
  shares?: string
  /** It changes what other checks rely on, such as who is in the team, so no other runs meanwhile. It ends as it began. */
  alone?: boolean
  /** What it belongs to; default: the tag of the operation that the id begins with, or what the id begins with. */
  tag?: string
  /** How many requests it sends, where the check knows before it runs; else the figure measured on our own service is told. */
  requests?: number
}

export interface Check {
  /** `<operationId or topic>/<rule>`. */
  id: string
  source: string
  level: Level
  needs: readonly Need[]
  timeoutMs: number
  isLast: boolean
  usesHome: boolean
  /** The same for all checks of one flow; null: it builds upon no other. */
  flow: number | null
  /** Checks of one lane never run at once; null: it does not matter to it. */
  lane: string | null
  /** No other check may run meanwhile. */
  isAlone: boolean
  /** In lower case, with `-` for spaces. */
  tag: string
  /** Null: not known before it runs. */
  requests: number | null
  run(): Promise<void>
}

type Run = () => void | Promise<void>

const DEFAULT_TIMEOUT_MS = 60_000

const sections: { options: CheckOptions; build: () => void }[] = []
let collected: Check[] | null = null
let inherited: CheckOptions = {}
let flow: number | null = null
let flows = 0

/** Checks that share a source or needs. Within another section, its needs are added to that one's. */
export function section(_name: string, options: CheckOptions, build: () => void): void {
  if (!collected) {
    sections.push({ options, build })
    return
  }
  const outer = { inherited, flow }
  inherited = { ...outer.inherited, ...options, needs: [...(inherited.needs ?? []), ...(options.needs ?? [])] }
  if (options.flow) flow = flows++
  try {
    build()
  } finally {
    inherited = outer.inherited
    flow = outer.flow
  }
}

/** Declares a check; only within a section. */
export function check(id: string, ...rest: [Run] | [CheckOptions, Run]): void {
  if (!collected) throw new Error(`The check ${id} stands outside of any section`)
  const run = rest.at(-1) as Run
  const options = rest.length === 2 ? rest[0] : {}
  const { source, level, timeout, last, home, shares, alone, tag: given, requests } = { ...inherited, ...options }
  const topic = id.slice(0, id.indexOf('/'))
  const operation = operations.find(({ operationId }) => operationId === topic)
  const tag = toTag(given ?? operation?.tag ?? topic)
  collected.push({
    id,
    source: source ?? `${operationById(topic).pointer}/description`,
    level: level ?? 'MUST',
    needs: [...(inherited.needs ?? []), ...(options.needs ?? [])],
    timeoutMs: timeout ?? DEFAULT_TIMEOUT_MS,
    isLast: last ?? false,
    usesHome: home ?? !takesNothing(operation),
    flow,
    lane: shares === undefined ? null : `${shares} of ${tag}`,
    isAlone: alone ?? false,
    tag,
    requests: requests ?? null,
    run: async () => run(),
  })
}

function takesNothing(operation: Operation | undefined): boolean {
  return (
    operation !== undefined && !operation.requestBody && operation.parameters.every(({ in: at }) => at === 'header')
  )
}

/** The form in which tags are compared. */
export function toTag(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}

type RunOf<Case extends readonly unknown[]> = (...values: Case) => void | Promise<void>

/** One check for each case, whose first value, a name, stands for `%s` in the id. Its options may depend on the case. */
export function checkEach<Case extends readonly [name: string, ...unknown[]]>(cases: readonly Case[]) {
  return (id: string, ...rest: [RunOf<Case>] | [(...values: Case) => CheckOptions, RunOf<Case>]): void => {
    const run = rest.at(-1) as RunOf<Case>
    for (const values of cases) {
      const options = rest.length === 2 ? rest[0](...values) : {}
      check(id.replace('%s', values[0]), options, () => run(...values))
    }
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
    flow = null
    flows = 0
  }
}

/** Thrown by a check that finds that it has nothing to judge here; the message is the reason. */
export class SkipError extends Error {
  override name = 'SkipError' as const
}

/** Thrown by a check that finds only what is worth a warning, whatever its level. */
export class WarnError extends Error {
  override name = 'WarnError' as const
}
