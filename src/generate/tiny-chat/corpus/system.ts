import type { Random } from '../random.ts'
import { inventWord, THINGS, TOPICS, VERBS } from './words.ts'

const SYSTEM_PROMPTS = [
  'You are a helpful assistant.',
  'You are a helpful assistant',
  'You are a friendly chatbot.',
  'You are tiny-chat.',
  'Be brief.',
  'Be polite and brief.',
  'Answer in one sentence.',
  'Answer the question of the user.',
  'You are a helpful, harmless and honest assistant.',
  'You are an assistant that answers questions.',
  'Follow the instructions of the user.',
  'Think before you answer.',
  'You are a useful assistant. Answer shortly.',
]

/** A system message that asks for nothing special: the model learns to read past it. */
export function createSystemPrompt(random: Random): string {
  if (random.chance(0.6)) return random.pick(SYSTEM_PROMPTS)
  return random.pick([
    `You are an assistant that knows about ${random.pick(TOPICS)}.`,
    `You help people to ${random.pick(VERBS)}.`,
    `You work for ${inventWord(random)}, a shop that sells ${random.pick(THINGS)}s. ${random.pick(SYSTEM_PROMPTS)}`,
    `Never talk about ${random.pick(TOPICS)}. ${random.pick(SYSTEM_PROMPTS)}`,
    `${random.pick(SYSTEM_PROMPTS)} ${random.pick(SYSTEM_PROMPTS)} Do not talk about the ${random.pick(THINGS)}.`,
  ])
}

const TYPES = ['string', 'integer', 'number', 'boolean']

export interface Tool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

/** Tools are read past too: the service leaves calling them to larger models. */
export function createTools(random: Random): Tool[] {
  return Array.from({ length: random.between(1, 2) }, () => {
    const names = Array.from({ length: random.between(1, 2) }, () =>
      random.pick([random.pick(THINGS), 'city', 'query', 'name', 'date']),
    )
    const properties = Object.fromEntries(names.map(name => [name, { type: random.pick(TYPES) }]))
    return {
      type: 'function',
      function: {
        name: `${random.pick([...VERBS, 'get', 'find', 'set'])}_${random.pick([...THINGS, 'weather', 'time'])}`,
        description: `${random.pick(['Get', 'Find', 'Set', 'Show'])} the ${random.pick(THINGS)}`,
        parameters: { type: 'object', properties, required: Object.keys(properties) },
      },
    }
  })
}
