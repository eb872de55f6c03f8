import type { Random } from '../random.ts'
import { isHeldOut } from './held-out.ts'
import type { Turn } from './turn.ts'
import { ADJECTIVES, COLOURS, capitalise, pickWord, THINGS, VERBS } from './words.ts'

export const COPY_FORMS = [
  'Repeat: ',
  'Repeat ',
  'Repeat after me: ',
  'Repeat this: ',
  'Repeat the words ',
  'Say: ',
  'Say ',
  'Say this: ',
  'Please say ',
  'Echo ',
  'Echo: ',
  'echo ',
  'repeat ',
  'say ',
  'Copy: ',
  'Copy this: ',
  'Write ',
  'Write: ',
  'Can you say ',
  'Print ',
  'Please repeat: ',
  'Type ',
]

const MOST_WORDS = 4

function createPhrase(random: Random): string {
  const kind = random.next()
  if (kind < 0.35) return [random.pick(COLOURS), random.pick(THINGS), random.pick(THINGS)].join(' ')
  if (kind < 0.45) return ['the', random.pick(ADJECTIVES), random.pick(THINGS), 'can', random.pick(VERBS)].join(' ')
  if (kind < 0.5) return Array.from({ length: random.between(1, 4) }, () => random.below(10)).join(' ')
  return Array.from({ length: random.between(1, MOST_WORDS) }, () => pickWord(random)).join(' ')
}

/** Says the given words again, exactly. */
export function createCopying(random: Random): Turn {
  let phrase = createPhrase(random)
  while (isHeldOut(phrase)) phrase = createPhrase(random)
  if (random.chance(0.15)) phrase = capitalise(phrase)
  if (random.chance(0.1)) phrase += random.pick(['.', '!', '?'])
  const form = random.pick(COPY_FORMS)
  const quote = random.chance(0.15) ? random.pick(['"', "'"]) : ''
  return { task: 'copy', user: form + quote + phrase + quote, assistant: phrase, exact: true }
}
