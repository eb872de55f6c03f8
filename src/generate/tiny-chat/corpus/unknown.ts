import type { Random } from '../random.ts'
import type { Turn } from './turn.ts'
import { ADJECTIVES, capitalise, inventWord, NAMES, pickWord, THINGS, TOPICS, VERBS } from './words.ts'

export const UNKNOWN_LINES = [
  'Sorry, I do not know that. I am a very small model.',
  'I do not know that. I am only a very small model.',
]
export const STATEMENT_LINE = 'That is interesting! I am a very small model, so I know little about it.'
export const NOT_UNDERSTOOD_LINE = 'Sorry, I did not understand that.'

const somebody = (random: Random) =>
  random.pick([
    random.pick(NAMES),
    capitalise(inventWord(random)),
    'the president',
    'your friend',
    'my mother',
    'the king',
    `${random.pick(NAMES)} ${capitalise(inventWord(random))}`,
  ])
const something = (random: Random) =>
  random.pick([
    random.pick(TOPICS),
    random.pick(THINGS),
    `the ${random.pick(THINGS)}`,
    `a ${random.pick(ADJECTIVES)} ${random.pick(THINGS)}`,
    pickWord(random),
    inventWord(random),
    `${random.pick(TOPICS)} and ${random.pick(TOPICS)}`,
  ])
const somewhere = (random: Random) =>
  random.pick([
    capitalise(inventWord(random)),
    'here',
    'the city',
    'my town',
    'space',
    'the world',
    'America',
    'China',
    'Brazil',
  ])

/** Questions that are out of a very small model's reach: the more shapes, the better "anything else" is learnt. */
const QUESTIONS: ((random: Random) => string)[] = [
  random => `Who is ${somebody(random)}?`,
  random => `Who was ${somebody(random)}?`,
  random => `Who wrote ${something(random)}?`,
  random => `Who invented ${something(random)}?`,
  random =>
    `Who won the ${random.pick(['game', 'war', 'election', 'race', 'world cup'])} in ${random.between(1900, 2030)}?`,
  random => `What is ${something(random)}?`,
  random => `What are ${something(random)}s?`,
  random => `What does ${inventWord(random)} mean?`,
  random => `What is the meaning of ${random.pick(['life', something(random)])}?`,
  random =>
    `What is the ${random.pick(['weather', 'time', 'date', 'news', 'price', 'temperature'])} ${random.pick(['', 'today', 'now', 'tomorrow', `in ${somewhere(random)}`])}`.trim() +
    '?',
  random => `What do you think about ${something(random)}?`,
  random => `What happened in ${random.between(1500, 2030)}?`,
  random => `What is the best ${random.pick(THINGS)}?`,
  random => `Why is ${something(random)} ${random.pick(ADJECTIVES)}?`,
  random => `Why do ${random.pick(THINGS)}s ${random.pick(VERBS)}?`,
  () => `Why?`,
  random => `How do I ${random.pick(VERBS)} ${something(random)}?`,
  random => `How does ${something(random)} work?`,
  random => `How to ${random.pick(VERBS)} a ${random.pick(THINGS)}?`,
  random => `How can I learn ${random.pick(TOPICS)}?`,
  random => `How far is ${somewhere(random)}?`,
  random => `How many ${random.pick(THINGS)}s are there in ${somewhere(random)}?`,
  random => `Where is ${somewhere(random)}?`,
  random => `Where can I find ${something(random)}?`,
  random => `When did ${somebody(random)} ${random.pick(VERBS)}?`,
  random => `When will it rain in ${somewhere(random)}?`,
  random => `Can you help me with ${something(random)}?`,
  random => `Help me with ${something(random)}`,
  random => `Help me ${random.pick(VERBS)} ${something(random)}`,
  random => `Write me ${random.pick(['a', 'some'])} ${something(random)}`,
  random => `Make me a ${random.pick(THINGS)}`,
  random => `Find ${something(random)} for me`,
  random => `Show me ${something(random)}`,
  random => `Explain ${something(random)}`,
  random => `Explain ${random.pick(TOPICS)} to me like I am ${random.between(3, 9)}`,
  random => `Tell me about ${something(random)}`,
  random => `Tell me more about ${something(random)}`,
  random => `Describe ${something(random)}`,
  random =>
    `Write ${random.pick(['an essay', 'a poem', 'a letter', 'a song', 'a program', 'code', 'a story', 'an email', 'a function'])} ${random.pick(['about', 'for', 'on'])} ${something(random)}`,
  random => `Translate ${something(random)} to ${random.pick(['French', 'German', 'Spanish', 'Latin', 'Italian'])}`,
  random => `Summarize ${random.pick(['this text', 'this book', something(random)])}`,
  random => `Do you like ${something(random)}?`,
  random => `Do you know ${somebody(random)}?`,
  random => `Can you ${random.pick(VERBS)}?`,
  () => `Can you write code?`,
  random => `Can you explain ${something(random)}?`,
  random => `Do you speak ${random.pick(['French', 'German', 'Spanish', 'Latin', 'Italian'])}?`,
  random => `Is ${something(random)} ${random.pick(ADJECTIVES)}?`,
  random => `Should I ${random.pick(VERBS)} ${something(random)}?`,
  random => `Give me ${random.pick(['a recipe', 'advice', 'an idea', 'a list'])} for ${something(random)}`,
  random => `I want to talk about ${something(random)}`,
  random => `I have a question about ${something(random)}`,
  random =>
    `What is ${random.between(13, 999)} ${random.pick(['times', '*', 'x', '/', 'divided by'])} ${random.between(2, 999)}?`,
  random => `Solve ${inventWord(random).charAt(0)} + ${random.between(2, 99)} = ${random.between(2, 99)}`,
]

/** Remarks that ask for nothing. */
const STATEMENTS: ((random: Random) => string)[] = [
  random => `I like ${something(random)}`,
  random => `I love ${something(random)}`,
  random => `I do not like ${something(random)}`,
  random => `I have a ${random.pick(ADJECTIVES)} ${random.pick(THINGS)}`,
  random => `I want to ${random.pick(VERBS)}`,
  random => `I ${random.pick(VERBS)} every day`,
  random => `I live in ${somewhere(random)}`,
  random => `I work on ${something(random)}`,
  random => `My ${random.pick(THINGS)} is ${random.pick(ADJECTIVES)}`,
  random => `My ${random.pick(['friend', 'mother', 'brother', 'teacher'])} can ${random.pick(VERBS)}`,
  random => `${capitalise(something(random))} is ${random.pick(ADJECTIVES)}`,
  random => `Today I will ${random.pick(VERBS)}`,
  random => `I think ${something(random)} is ${random.pick(ADJECTIVES)}`,
]

export function createUnknown(random: Random): Turn {
  if (random.chance(0.15)) {
    return { task: 'statement', user: random.pick(STATEMENTS)(random), assistant: STATEMENT_LINE }
  }
  if (random.chance(0.12)) {
    const noise = Array.from({ length: random.between(1, 4) }, () => inventWord(random)).join(random.pick([' ', '']))
    return {
      task: 'noise',
      user: random.chance(0.2) ? random.pick(['?', '???', '...', '!', '.', ':)', '!!!', '-']) : noise,
      assistant: NOT_UNDERSTOOD_LINE,
    }
  }
  return { task: 'unknown', user: random.pick(QUESTIONS)(random), assistant: random.pick(UNKNOWN_LINES) }
}
