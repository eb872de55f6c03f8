import { afterAll, describe, expect, test } from 'vitest'
import { createConversation } from '../../src/generate/tiny-chat/corpus/conversation.ts'
import { COPY_FORMS } from '../../src/generate/tiny-chat/corpus/copying.ts'
import { isHeldOut } from '../../src/generate/tiny-chat/corpus/held-out.ts'
import { INTRODUCTIONS } from '../../src/generate/tiny-chat/corpus/names.ts'
import { isHeldOutSum, LARGEST_ADDEND, SUM_FORMS } from '../../src/generate/tiny-chat/corpus/numbers.ts'
import { SENSIBLE_LINES } from '../../src/generate/tiny-chat/corpus/small-talk.ts'
import { STATEMENT_LINE, UNKNOWN_LINES } from '../../src/generate/tiny-chat/corpus/unknown.ts'
import { COLOURS, NAMES, THINGS } from '../../src/generate/tiny-chat/corpus/words.ts'
import { createRandom } from '../../src/generate/tiny-chat/random.ts'
import { ask, createEngine, measure, type Question } from './tiny-chat-model.ts'

const engine = createEngine()
afterAll(() => engine.close())

/** Least share of right answers to questions that the corpus never holds. */
const LEAST_SHARE = 0.9
/** Names outside the corpus come in pieces of a letter or two: a model of a million weights strings half of them together. */
const LEAST_SHARE_OF_NAMES = 0.4
const random = createRandom(77)

/** Draws until `count` texts were found that the corpus leaves out. */
function findHeldOut(count: number, create: () => string): string[] {
  const found = new Set<string>()
  while (found.size < count) {
    const text = create()
    if (isHeldOut(text)) found.add(text)
  }
  return [...found]
}

describe('greedy answers to held-out questions', () => {
  const sums = Array.from({ length: LARGEST_ADDEND + 1 }, (_, a) => a).flatMap(a =>
    Array.from({ length: a }, (_, b) => ({ a, b })).filter(({ b }) => isHeldOutSum(a, b)),
  )
  const tasks: Record<string, Question[]> = {
    'repeats three words': findHeldOut(40, () =>
      [random.pick(COLOURS), random.pick(THINGS), random.pick(THINGS)].join(' '),
    ).map(phrase => ({ user: random.pick(COPY_FORMS) + phrase, right: [phrase] })),
    'greets by name': NAMES.filter(isHeldOut).flatMap(name =>
      INTRODUCTIONS.map(introduce => ({ user: introduce(name), right: [`Hello ${name}! How can I help you?`] })),
    ),
    'adds two numbers': sums.flatMap(({ a, b }) =>
      SUM_FORMS.map(write => ({ user: write(`${a}`, `${b}`), right: [`${a + b}`] })),
    ),
    'finds the colour told': findHeldOut(40, () => `${random.pick(COLOURS)} ${random.pick(THINGS)}`).map(pair => {
      const [colour, thing] = pair.split(' ')
      return { user: `The ${thing} is ${colour}. What colour is the ${thing}?`, right: [`The ${thing} is ${colour}.`] }
    }),
  }
  for (const [title, questions] of Object.entries(tasks)) {
    const least = title === 'greets by name' ? LEAST_SHARE_OF_NAMES : LEAST_SHARE
    test(`${title} in at least ${least * 100} % of ${questions.length}`, async () => {
      const { share, wrong } = await measure(engine, questions)
      expect(share, wrong.join('\n')).toBeGreaterThanOrEqual(least)
    })
  }
})

describe('a stranger', () => {
  const lines = (...kinds: string[]) => kinds.flatMap(kind => SENSIBLE_LINES[kind]!)
  const greetings: [string, string[]][] = [
    ['hello', lines('hello')],
    ['Hello!', lines('hello')],
    ['hi', lines('hello')],
    ['HELLO', lines('hello')],
    ['hey there :)', lines('hello')],
    ['good morning!', lines('morning')],
    ['hi, how are you?', lines('feelings')],
    ['who are you', lines('identity')],
    ['What can you do?', lines('abilities')],
    ['help', lines('abilities')],
    ['thank you!!', lines('thanks')],
    ['bye', lines('bye')],
    ['tell me a joke', lines('joke')],
    ['Who wrote the book on gravity?', UNKNOWN_LINES],
    ['how do I cook a star?', UNKNOWN_LINES],
    ['I like coffee', [STATEMENT_LINE]],
  ]
  test.each(greetings)('who says "%s" gets a sensible line', async (user, right) => {
    expect(right).toContain((await ask(engine, [{ role: 'user', content: user }]))[0])
  })

  test('gets the same under a system message', async () => {
    const system = { role: 'system', content: 'You are a helpful assistant.' }
    expect(lines('hello')).toContain((await ask(engine, [system, { role: 'user', content: 'Hello!' }]))[0])
  })
})

describe('yes, no or maybe', () => {
  const rewards: Record<string, number> = { yes: 0.5, no: 0.75, maybe: 1 }
  const lists = [
    'yes no maybe',
    'maybe yes no',
    'no yes maybe',
    'yes maybe no',
    'yes no',
    'maybe no',
    'no maybe',
    'no yes',
  ]
  const prompts = ['respond', 'just respond'].flatMap(prefix =>
    lists.flatMap(list => {
      const words = list.split(' ')
      const quoted = words.map(word => `'${word}'`)
      return words.length === 3
        ? [`${prefix} with ${quoted.join(', ')}`, `${prefix} with ${words.join(', ')}`]
        : [`${prefix} with ${quoted.join(' or ')}`, `${prefix} with ${words.join(' or ')}`]
    }),
  )

  test('answers one of the words, varied, with room to improve', async () => {
    const samples = 12
    const answers = await Promise.all(
      prompts.map((user, index) =>
        ask(engine, [{ role: 'user', content: user }], { temperature: 1, n: samples, seed: 100 + index }),
      ),
    )
    const all = answers.flat()
    const reward = all.reduce((sum, answer) => sum + (rewards[answer] ?? 0), 0) / all.length
    expect(all.filter(answer => answer in rewards).length / all.length).toBeGreaterThanOrEqual(0.97)
    expect(reward).toBeLessThan(0.85)
    expect(reward).toBeGreaterThan(0.65)
    // a group whose answers are all the same teaches nothing
    expect(answers.filter(group => new Set(group).size === 1)).toEqual([])
    // every prompt leads to the best word now and then, listed or not
    expect(answers.filter(group => group.includes('maybe')).length / prompts.length).toBeGreaterThan(0.85)
  })

  test('keeps to a word that it is told', async () => {
    const { share, wrong } = await measure(
      engine,
      Object.keys(rewards)
        .flatMap(word => [`say ${word}`, `just respond with '${word}'`, `Answer with the word ${word}`])
        .map(user => ({ user, right: [user.match(/yes|no|maybe/)![0]] })),
    )
    expect(share, wrong.join('\n')).toBe(1)
  })
})

test('answers far into the context', async () => {
  const questions = Array.from({ length: 12 }, (_, index) => {
    const { messages } = createConversation(createRandom(500 + index), 12)
    return [...messages, { role: 'user', content: 'Which color is the sky?' }]
  })
  const answers = await Promise.all(questions.map(async messages => (await ask(engine, messages))[0]))
  expect(answers.filter(answer => answer === 'The sky is blue.').length).toBeGreaterThanOrEqual(10)
})
