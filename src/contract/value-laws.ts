/** How ids and times are written, wherever they stand in a reply. */
import type { Operation } from '../spec/document.ts'
import type { Violation } from './conform.ts'
import { isUuid, type Json, toBreach } from './law-breach.ts'

const IDS = '/info/description#Ids, times and null'
const OURS = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const NAMES_TIME = /_at$|^training_(?:start|end)$|^time$/
/** Properties under which callers keep what they like. */
const OF_CALLERS = new Set([
  'metadata',
  'payload',
  'body',
  'logs',
  'messages_and_choices',
  'tools',
  'additional_histories',
  'score_op',
  'headers',
  'response_headers',
])
/** Clocks differ, in milliseconds. */
const CLOCK_SKEW_MS = 5 * 60_000
/** In the year 5138; in milliseconds it was in 1973. */
export const MOST_SECONDS = 1e11
/** Each does not come before the one before it. */
const IN_ORDER = [
  ['created_at', 'updated_at'],
  ['created_at', 'finished_at'],
  ['created_at', 'training_start', 'training_end'],
  ['created_at', 'training_end'],
] as const

export function checkValues({ tag, operationId }: Operation, body: Json): Violation[] {
  // What scorers are made of is their caller's.
  if (tag === 'Scorers' || operationId.startsWith('createChatCompletion')) return []
  const found: Violation[] = []
  const walk = (value: unknown, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (OF_CALLERS.has(key)) continue
      const here = `${at}/${key}`
      if (typeof inner === 'string') found.push(...checkText(key, inner, here))
      else if (key === 'created' && Number(inner) > MOST_SECONDS)
        found.push(toBreach(IDS, `created is no time in seconds: ${inner}`, here))
      else walk(inner, here)
    }
    if (!Array.isArray(value)) found.push(...checkTimes(value as Json, at))
  }
  walk(body, '')
  return found
}

function checkText(key: string, text: string, at: string): Violation[] {
  if (/^id$|_id$/.test(key) && isUuid(text) && !OURS.test(text))
    return [toBreach(IDS, `${text} is no UUID of version 7 in lower case`, at)]
  if (!NAMES_TIME.test(key)) return []
  if (!TIME.test(text)) return [toBreach(IDS, `${text} is no time in UTC with milliseconds`, at)]
  const isToCome = key !== 'next_attempt_at' && Date.parse(text) > Date.now() + CLOCK_SKEW_MS
  return isToCome ? [toBreach(IDS, `${text} is still to come`, at)] : []
}

function checkTimes(record: Json, at: string): Violation[] {
  const isBehind = (one: string, other: string) => {
    const [first, second] = [record[one], record[other]]
    return typeof first === 'string' && typeof second === 'string' && Date.parse(first) > Date.parse(second)
  }
  for (const names of IN_ORDER)
    for (const [index, name] of names.slice(1).entries())
      if (isBehind(names[index]!, name))
        return [toBreach(IDS, `${names[index]} is later than ${name}`, `${at}/${name}`)]
  return []
}
