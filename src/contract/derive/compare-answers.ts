/** Whether two answers are the same but for what changes from one to the next by itself, such as ids and times. */
import type { Answer } from '../client.ts'
import { isObject } from './json-place.ts'

/** Differences that are told. */
const MOST_TOLD = 3

/**
 * What the other answer has otherwise, or null. `again` are answers to the very request of `one`: where these differ already, nothing is
 * compared.
 */
export function compareAnswers(one: Answer, again: readonly Answer[], other: Answer): string | null {
  if (one.status !== other.status) return `the status is ${other.status} instead of ${one.status}`
  const isSuccess = one.status >= 200 && one.status < 300
  // The words of an error are free, and may repeat the request.
  if (!isSuccess) return null
  const volatile = new Set(again.flatMap(({ body }) => differences(one.body, body, '')))
  const found = differences(one.body, other.body, '').filter(
    place => ![...volatile].some(known => place === known || place.startsWith(`${known}/`) || known === ''),
  )
  return found.length > 0 ? `the answer differs at ${found.slice(0, MOST_TOLD).join(', ') || 'the whole'}` : null
}

/**
 * The same for a request that is still to be sent. `ask` sends the very request of `one` again: where the answers seem to differ, it is
 * sent once more, since a clock may have moved on in between.
 */
export async function compareWith(
  one: Answer,
  again: Answer,
  ask: () => Promise<Answer>,
  askOther: () => Promise<Answer>,
): Promise<string | null> {
  const other = await askOther()
  const difference = compareAnswers(one, [again], other)
  return difference === null ? null : compareAnswers(one, [again, await ask()], other)
}

/** Places at which two JSON values differ. */
function differences(one: unknown, other: unknown, at: string): string[] {
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length)
    return one.flatMap((item, index) => differences(item, other[index], `${at}/${index}`))
  if (!isObject(one) || !isObject(other)) return JSON.stringify(one) === JSON.stringify(other) ? [] : [at]
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...keys].flatMap(key => differences(one[key], other[key], `${at}/${key}`))
}
