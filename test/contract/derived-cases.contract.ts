/** Requests that differ from a good one in one place, for every rule of every operation's parameters and body. */
import { check, section, WarnError } from '../../src/contract/check.ts'
import type { OperationId, Refusal } from '../../src/contract/client.ts'
import { deriveCases } from '../../src/contract/derive/derive-cases.ts'
import { type DerivedCase, EXPECTATIONS, type Rule } from '../../src/contract/derive/derived-case.ts'
import { isRefusal, isSuccess, originOf } from '../../src/contract/severity.ts'
import { type Operation, operations } from '../../src/spec/document.ts'
import { fieldRulesOf } from './field-rules.ts'
import { goodRequest, isHarmless } from './good-requests.ts'
import { client, home, runId, target } from './setup.ts'

const CHECKS: Readonly<Record<Rule, string>> = {
  required: 'refuses-a-missing-part',
  null: 'refuses-null',
  type: 'refuses-other-types',
  lookalike: 'refuses-what-would-have-to-be-converted',
  bounds: 'refuses-what-is-out-of-bounds',
  values: 'refuses-other-values',
  format: 'refuses-what-is-malformed',
  repeated: 'refuses-a-parameter-given-twice',
  optional: 'does-without-optional-parts',
  allowed: 'accepts-what-is-allowed',
  huge: 'survives-what-is-huge',
}

/** Rules that are no matter of a single schema. */
const SOURCES: Partial<Record<Rule, string>> = {
  lookalike: '/info/description#On the wire',
  repeated: '/info/description#On the wire',
  huge: '/info/description#Errors',
}

const DETAIL = '/components/schemas/ValidationErrorBody/properties/detail/description'
/** Requests with two faults, of one operation. */
const MOST_PAIRS = 4

/** Of an answer that is any but a fault of the service. */
const FIRST_FAULT = 500

/** Those of one deployment, which several checks of an operation share. */
let known = { of: '', cases: new Map<Operation, DerivedCase[]>() }

function casesOf(operation: Operation): DerivedCase[] {
  const of = [runId, home.entity, home.id].join(' ')
  if (known.of !== of) known = { of, cases: new Map() }
  const cases = known.cases.get(operation) ?? toCases(operation)
  known.cases.set(operation, cases)
  return cases
}

function toCases(operation: Operation): DerivedCase[] {
  const id = operation.operationId as OperationId
  const cases = deriveCases(operation, goodRequest(id), { rules: fieldRulesOf(id), mayAccept: isHarmless(id) })
  return target.isMock ? cases.filter(one => EXPECTATIONS[one.rule] === 'refused' && !one.isSubtle) : cases
}

/** What is wrong with the answer to a case, or null. `expected` is the status of the good request. */
async function judge(id: OperationId, one: DerivedCase, expected: number): Promise<string | null> {
  const expectation = EXPECTATIONS[one.rule]
  const { status, text, body } = await client.call(id, { ...one.options, bad: expectation === 'refused' })
  if (expectation === 'answered') return status < FIRST_FAULT ? null : `it answered ${status}: ${text}`
  if (expectation === 'accepted') {
    const isAccepted = status === expected || isSuccess(status, target.profile)
    return isAccepted ? null : `it answered ${status} instead of ${expected}, as without the difference: ${text}`
  }
  if (!isRefusal(status, 422, target.profile)) return `it answered ${status} instead of 422: ${text}`
  if (target.isMock || target.profile === 'interface') return null
  const { detail } = body as Refusal
  const places = Array.isArray(detail) ? detail.map(({ loc }) => loc.join('.')) : []
  const place = one.loc!.join('.')
  // Of a union, what is wrong may stand within the value.
  const isNamed = places.some(found => found === place || found.startsWith(`${place}.`))
  return isNamed ? null : `the 422 does not say that it is at ${place}: ${text}`
}

/** Ends at the first case that is judged wrongly; where what it breaks does not bind the deployment, the others are still tried. */
async function judgeAll(id: OperationId, rule: Rule): Promise<void> {
  const operation = operations.find(({ operationId }) => operationId === id)!
  const isCompared = EXPECTATIONS[rule] === 'accepted'
  const expected = isCompared ? (await client.call(id, goodRequest(id))).status : 0
  let warning: string | null = null
  for (const one of casesOf(operation).filter(one => one.rule === rule)) {
    const fault = await judge(id, one, expected)
    if (fault === null) continue
    const message = `${one.name}: ${fault} [${one.pointer}]`
    if (target.profile === 'full' || originOf(one.pointer) === 'interface') throw new Error(message)
    warning ??= message
  }
  if (warning !== null) throw new WarnError(warning)
}

/** Bodies with two parts of a wrong type each, and where they stand. */
function pairsOfFaults(operation: Operation): { body: object; places: string[] }[] {
  const ofBody = casesOf(operation).filter(
    ({ rule, loc }) => rule === 'type' && loc?.[0] === 'body' && loc.length === 2,
  )
  const faults = [...new Map(ofBody.map(fault => [fault.loc![1]!, fault.options.body as Record<string, unknown>]))]
  return faults.slice(1).map(([name, body], index) => {
    const [other, otherBody] = faults[index]!
    return { body: { ...otherBody, [name]: body[name] }, places: [other, name] }
  })
}

async function judgePairs(operation: Operation): Promise<void> {
  const id = operation.operationId as OperationId
  for (const { body, places } of pairsOfFaults(operation).slice(0, MOST_PAIRS)) {
    const { detail } = await client.refused(id, 422, { ...goodRequest(id), body })
    const found = Array.isArray(detail) ? detail.map(({ loc }) => loc[1]) : []
    const untold = places.filter(place => !found.includes(place))
    if (untold.length > 0) throw new Error(`Of ${places.join(' and ')}, both wrong, the 422 does not tell ${untold}`)
  }
}

section('Derived cases', { shares: 'good requests' }, () => {
  for (const operation of operations) {
    const id = operation.operationId as OperationId
    const body = operation.requestBody?.content.has('application/json')
    const isOfBody = ({ loc }: DerivedCase) => loc === null || loc[0] === 'body'
    for (const [rule, cases] of Map.groupBy(casesOf(operation), one => one.rule)) {
      const part = body && cases.some(isOfBody) ? 'requestBody/content/application~1json/schema' : 'parameters'
      const source = SOURCES[rule] ?? `${operation.pointer}/${operation.requestBody && !body ? 'requestBody' : part}`
      const requests = cases.length + (EXPECTATIONS[rule] === 'accepted' ? 1 : 0)
      check(`${id}/${CHECKS[rule]}`, { source, requests }, () => judgeAll(id, rule))
    }
    const pairs = Math.min(MOST_PAIRS, pairsOfFaults(operation).length)
    if (pairs > 0)
      check(`${id}/tells-every-broken-rule`, { source: DETAIL, requests: pairs, needs: ['memory'] }, () =>
        judgePairs(operation),
      )
  }
})
