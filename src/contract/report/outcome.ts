/** What a result comes to once it is known which checks are expected to fail. */
import type { CheckResult } from '../run-check.ts'

/** In the order in which reports show them. The meaning says what happened, the advice what to do about it. */
export const OUTCOMES = {
  fail: {
    meaning: 'The deployment breaks a rule that it must keep.',
    advice:
      'Read what was expected and the line of the contract that says so, repeat the request, mend the deployment.',
  },
  'unexpected-pass': {
    meaning: 'The check is in the file of expected failures, and it passed.',
    advice: 'Take its line out of the file, so that it is noticed when the rule breaks again.',
  },
  warn: {
    meaning: 'It should be otherwise, but nothing is wrong: the rule is a SHOULD, or does not bind in this profile.',
    advice: 'Decide whether it matters to your clients. It never fails a run.',
  },
  'expected-fail': {
    meaning: 'The check is in the file of expected failures, and it failed.',
    advice: 'Nothing today. Keep the reason in the file true.',
  },
  skip: {
    meaning: 'It could not be judged here, for the reason given.',
    advice:
      'Give what is missing (a second key, an address for webhooks), or take it that nothing was said about this rule.',
  },
  disabled: {
    meaning: 'It was left out on purpose, by a filter or the profile.',
    advice: 'Nothing; run without the filter, or with the profile `full`, to have it judged.',
  },
  pass: { meaning: 'The rule holds.', advice: 'Nothing.' },
} as const

export type Outcome = keyof typeof OUTCOMES

export const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[]

export function toOutcome({ verdict, expectedFailure }: CheckResult): Outcome {
  if (expectedFailure === undefined) return verdict
  if (verdict === 'fail' || verdict === 'warn') return 'expected-fail'
  return verdict === 'pass' ? 'unexpected-pass' : verdict
}

/** Whether a result fails the run. */
export function failsRun(result: CheckResult): boolean {
  const outcome = toOutcome(result)
  return outcome === 'fail' || outcome === 'unexpected-pass'
}

export function countOutcomes(results: readonly CheckResult[]): Record<Outcome, number> {
  const counts = Object.fromEntries(OUTCOME_NAMES.map(name => [name, 0])) as Record<Outcome, number>
  for (const result of results) counts[toOutcome(result)]++
  return counts
}

/** Such as `1 fail, 3 skip, 600 pass`; outcomes that did not occur are left out. */
export function toCountsText(results: readonly CheckResult[]): string {
  const counts = countOutcomes(results)
  return OUTCOME_NAMES.filter(name => counts[name] > 0)
    .map(name => `${counts[name]} ${name}`)
    .join(', ')
}

/** For `--help`. */
export function toLegend(): string {
  const width = Math.max(...OUTCOME_NAMES.map(name => name.length))
  return OUTCOME_NAMES.map(name => `  ${name.padEnd(width)}  ${OUTCOMES[name].meaning} ${OUTCOMES[name].advice}`).join(
    '\n',
  )
}
