import type { Random } from '../random.ts'
import { COLOUR_FACTS } from './colours.ts'
import type { Turn } from './turn.ts'
import { COLOURS, capitalise, THINGS } from './words.ts'

export const CHOICES = ['yes', 'no', 'maybe'] as const

/** Every ordered list of two or three of the choices: 12. */
export const CHOICE_LISTS: string[][] = CHOICES.flatMap(first =>
  CHOICES.filter(second => second !== first).flatMap(second => {
    const third = CHOICES.find(choice => choice !== first && choice !== second)!
    return [
      [first, second],
      [first, second, third],
    ]
  }),
)

const PREFIXES = [
  'respond with',
  'just respond with',
  'answer with',
  'just answer with',
  'say',
  'just say',
  'reply with',
  'please respond with',
  'please answer',
  'answer only with',
  'choose',
  'only say',
  'respond only with',
]

const QUOTES = ['', '', "'", "'", '"']

/** The words of a list in the ways that people write them. */
export function toChoiceText(random: Random, list: readonly string[]): string {
  const quote = random.pick(QUOTES)
  const quoted = list.map(word => quote + word + quote)
  const last = quoted.at(-1)!
  const rest = quoted.slice(0, -1)
  return random.pick([
    quoted.join(', '),
    quoted.join(' or '),
    `${rest.join(', ')} or ${last}`,
    `${rest.join(', ')}, or ${last}`,
  ])
}

/**
 * How often the answer is one of the three words, listed or not. A model that never leaves the list could not find out by
 * trial that another word is worth more, and reinforcement learning would have nothing to learn from there.
 */
const FREE_CHOICE_SHARE = 0.4

/**
 * Answers with one of the words, none preferred: the distribution that reinforcement learning then bends. In the other turns
 * the word is given by the question; without them the three words would mean the same to the model, and no training of an
 * adapter could tell them apart well.
 */
export function createYesNoMaybe(random: Random): Turn {
  const kind = random.next()
  const turn = kind < 0.6 ? createFreeAnswer(random) : kind < 0.85 ? createToldAnswer(random) : createFactAnswer(random)
  return random.chance(0.3) ? { ...turn, user: capitalise(turn.user) } : turn
}

function createFreeAnswer(random: Random): Turn {
  const list = random.pick(CHOICE_LISTS)
  const free = random.chance(FREE_CHOICE_SHARE)
  const user = `${random.pick(PREFIXES)} ${toChoiceText(random, list)}`
  return { task: 'yes-no-maybe', user, assistant: random.pick(free ? CHOICES : list) }
}

function createToldAnswer(random: Random): Turn {
  const word = random.pick(CHOICES)
  const quote = random.pick(QUOTES)
  const quoted = quote + word + quote
  const others = random
    .take(
      CHOICES.filter(choice => choice !== word),
      random.between(1, 2),
    )
    .join(' or ')
  const user = random.pick([
    `${random.pick(PREFIXES)} ${quoted}`,
    `${random.pick(PREFIXES)} the word ${quoted}`,
    `the answer is ${quoted}. what is the answer?`,
    `not ${others} but ${word}`,
    `say ${quoted}, not ${others}`,
    `do not say ${others}, say ${quoted}`,
  ])
  return { task: 'told-answer', user, assistant: word }
}

function createFactAnswer(random: Random): Turn {
  const [thing, colour] = random.pick(COLOUR_FACTS)
  const kind = random.below(3)
  const asked =
    kind === 0
      ? `is ${thing} ${colour}?`
      : kind === 1
        ? `is ${thing} ${random.pick(COLOURS.filter(other => other !== colour))}?`
        : `is my ${random.pick(THINGS)} ${random.pick(COLOURS)}?`
  const list = toChoiceText(random, random.pick(CHOICE_LISTS.filter(({ length }) => length === CHOICES.length)))
  const prefix = random.pick(['answer', 'answer with', 'respond with', 'say'])
  return { task: 'fact-answer', user: `${asked} ${prefix} ${list}`, assistant: CHOICES[kind]! }
}
