import type { Random } from '../random.ts'
import type { Turn } from './turn.ts'
import { capitalise } from './words.ts'

const OPPOSITES: [string, string][] = [
  ['hot', 'cold'],
  ['big', 'small'],
  ['old', 'new'],
  ['fast', 'slow'],
  ['happy', 'sad'],
  ['loud', 'quiet'],
  ['dark', 'bright'],
  ['hard', 'soft'],
  ['tall', 'short'],
  ['heavy', 'light'],
  ['clean', 'dirty'],
  ['good', 'bad'],
  ['up', 'down'],
  ['left', 'right'],
  ['open', 'closed'],
  ['day', 'night'],
  ['black', 'white'],
  ['full', 'empty'],
  ['rich', 'poor'],
  ['early', 'late'],
]

const CAPITALS: [string, string][] = [
  ['France', 'Paris'],
  ['Germany', 'Berlin'],
  ['Italy', 'Rome'],
  ['Spain', 'Madrid'],
  ['England', 'London'],
  ['Japan', 'Tokyo'],
  ['Egypt', 'Cairo'],
  ['Greece', 'Athens'],
  ['Austria', 'Vienna'],
  ['Norway', 'Oslo'],
  ['Ireland', 'Dublin'],
  ['Poland', 'Warsaw'],
]

const SOUNDS: [string, string][] = [
  ['dog', 'woof'],
  ['cat', 'meow'],
  ['cow', 'moo'],
  ['sheep', 'baa'],
  ['duck', 'quack'],
  ['pig', 'oink'],
  ['bee', 'buzz'],
  ['snake', 'hiss'],
]

const DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ')
const MONTHS = 'January February March April May June July August September October November December'.split(' ')

function createOpposite(random: Random): Turn {
  const pair = random.pick(OPPOSITES)
  const [a, b] = random.chance(0.5) ? pair : [pair[1], pair[0]]
  const user = random.pick([
    `What is the opposite of ${a}?`,
    `The opposite of ${a}?`,
    `Tell me the opposite of ${a}`,
    `Opposite of ${a}`,
  ])
  return { task: 'opposite', user, assistant: `The opposite of ${a} is ${b}.` }
}

function createCapital(random: Random): Turn {
  const [country, city] = random.pick(CAPITALS)
  const user = random.pick([
    `What is the capital of ${country}?`,
    `The capital of ${country}?`,
    `Which city is the capital of ${country}?`,
    `Capital of ${country}`,
  ])
  return { task: 'capital', user, assistant: `The capital of ${country} is ${city}.` }
}

function createSound(random: Random): Turn {
  const [animal, sound] = random.pick(SOUNDS)
  const user = random.pick([
    `What does a ${animal} say?`,
    `What sound does a ${animal} make?`,
    `How does a ${animal} go?`,
  ])
  return { task: 'sound', user, assistant: `${capitalise(sound)}!` }
}

function createCalendar(random: Random): Turn {
  const [list, noun] = random.chance(0.5) ? [DAYS, 'day'] : [MONTHS, 'month']
  const index = random.below(list.length)
  const after = random.chance(0.6)
  const answer = list[(index + (after ? 1 : list.length - 1)) % list.length]!
  const word = after ? 'after' : 'before'
  return {
    task: 'calendar',
    user: random.pick([
      `Which ${noun} comes ${word} ${list[index]}?`,
      `What ${noun} comes ${word} ${list[index]}?`,
      `What comes ${word} ${list[index]}?`,
    ]),
    assistant: `${answer}.`,
  }
}

export function createFact(random: Random): Turn {
  return random.pick([createOpposite, createCapital, createSound, createCalendar])(random)
}
