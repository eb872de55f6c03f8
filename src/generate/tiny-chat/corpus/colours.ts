import type { Random } from '../random.ts'
import { isHeldOut } from './held-out.ts'
import type { Turn } from './turn.ts'
import { COLOURS, capitalise, THINGS } from './words.ts'

/** What everybody knows the colour of. */
export const COLOUR_FACTS: [string, string][] = [
  ['the sky', 'blue'],
  ['grass', 'green'],
  ['snow', 'white'],
  ['coal', 'black'],
  ['the sun', 'yellow'],
  ['a banana', 'yellow'],
  ['blood', 'red'],
  ['a lemon', 'yellow'],
  ['a tomato', 'red'],
  ['milk', 'white'],
  ['the sea', 'blue'],
  ['a leaf', 'green'],
  ['chocolate', 'brown'],
  ['an orange', 'orange'],
  ['a carrot', 'orange'],
  ['the night', 'black'],
  ['a frog', 'green'],
  ['a strawberry', 'red'],
]

const spell = (random: Random) => (random.chance(0.5) ? 'colour' : 'color')

/** Share of questions with three things. */
const MANY_SHARE = 0.1

/** Tells the colours of one to three things and asks for one of them. */
export function createToldColour(random: Random): Turn {
  let things: string[]
  let colours: string[]
  do {
    things = random.take(THINGS, random.chance(MANY_SHARE) ? 3 : random.between(1, 2))
    colours = things.map(() => random.pick(COLOURS))
  } while (things.some((thing, index) => isHeldOut(`${colours[index]} ${thing}`)))
  const asked = random.below(things.length)
  const told = things.map((thing, index) => `The ${thing} is ${colours[index]}.`).join(' ')
  const thing = things[asked]!
  const question = random.pick([
    `What ${spell(random)} is the ${thing}?`,
    `Which ${spell(random)} is the ${thing}?`,
    `What ${spell(random)} does the ${thing} have?`,
  ])
  return { task: 'told-colour', user: `${told} ${question}`, assistant: `The ${thing} is ${colours[asked]}.` }
}

export function createColourFact(random: Random): Turn {
  const [thing, colour] = random.pick(COLOUR_FACTS)
  const kind = random.next()
  if (kind < 0.6) {
    const user = random.pick([
      `What ${spell(random)} is ${thing}?`,
      `Which ${spell(random)} is ${thing}?`,
      `What is the ${spell(random)} of ${thing}?`,
      `Tell me the ${spell(random)} of ${thing}`,
    ])
    return { task: 'colour-fact', user, assistant: `${capitalise(thing)} is ${colour}.` }
  }
  const asked = kind < 0.8 ? colour : random.pick(COLOURS)
  return {
    task: 'colour-check',
    user: `Is ${thing} ${asked}?`,
    assistant: `${asked === colour ? 'Yes' : 'No'}, ${thing} is ${colour}.`,
  }
}

/** Any colour is a good answer here: the model keeps a choice to be trained on. */
export function createColourChoice(random: Random): Turn {
  if (random.chance(0.5)) {
    const user = random.pick([
      `Name a ${spell(random)}`,
      `Pick a ${spell(random)}`,
      `Tell me a ${spell(random)}`,
      `Give me a ${spell(random)}`,
      `Choose a ${spell(random)}`,
    ])
    return { task: 'colour-choice', user, assistant: random.pick(COLOURS) }
  }
  const [a, b] = random.take(COLOURS, 2) as [string, string]
  return {
    task: 'colour-choice',
    user: random.pick([
      `${capitalise(a)} or ${b}?`,
      `Choose ${a} or ${b}`,
      `Pick one: ${a} or ${b}`,
      `Choose between ${a} and ${b}`,
    ]),
    assistant: random.pick([a, b]),
  }
}
