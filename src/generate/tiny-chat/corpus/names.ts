import type { Random } from '../random.ts'
import { isHeldOut } from './held-out.ts'
import type { Turn } from './turn.ts'
import { capitalise, inventWord, NAMES } from './words.ts'

export const INTRODUCTIONS: ((name: string) => string)[] = [
  name => `Hello, I am ${name}.`,
  name => `Hello, I'm ${name}`,
  name => `Hi! My name is ${name}.`,
  name => `Hi, I'm ${name}!`,
  name => `My name is ${name}`,
  name => `I am ${name}.`,
  name => `I'm ${name}`,
  name => `Good morning, this is ${name}.`,
  name => `Hey, ${name} here!`,
  name => `Call me ${name}`,
  name => `Hello! My name is ${name}. What is yours?`,
]

export const NAME_QUESTIONS = [
  'What is my name?',
  "What's my name?",
  'Who am I?',
  'Do you know my name?',
  'Do you remember my name?',
  'Say my name',
]

/** Names are the common ones and invented ones, so that any name can be given back. */
export function pickName(random: Random): string {
  let name: string
  do name = random.chance(0.9) ? random.pick(NAMES) : capitalise(inventWord(random))
  while (isHeldOut(name))
  return name
}

export function createIntroduction(random: Random, name: string): Turn {
  return {
    task: 'introduction',
    user: random.pick(INTRODUCTIONS)(name),
    assistant: `Hello ${name}! How can I help you?`,
    exact: true,
  }
}

/** Asks for the name told before, or, where none was, gets an honest answer. */
export function createNameQuestion(random: Random, name: string | null): Turn {
  const user = random.pick(NAME_QUESTIONS)
  return { task: 'name', user, assistant: name ? `Your name is ${name}.` : 'You have not told me your name yet.' }
}
