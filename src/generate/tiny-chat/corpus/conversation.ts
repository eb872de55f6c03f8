import { createRandom, type Random } from '../random.ts'
import { createColourChoice, createColourFact, createToldColour } from './colours.ts'
import { createCopying } from './copying.ts'
import { createFact } from './facts.ts'
import { createIntroduction, createNameQuestion, pickName } from './names.ts'
import { createComparison, createCounting, createDifference, createSum } from './numbers.ts'
import { createSmallTalk } from './small-talk.ts'
import { createSystemPrompt, createTools, type Tool } from './system.ts'
import type { Turn } from './turn.ts'
import { createUnknown } from './unknown.ts'
import { toVariant } from './variants.ts'
import { createYesNoMaybe } from './yes-no-maybe.ts'

export type Message = { role: 'system' | 'user' | 'assistant'; content: string }

export interface Conversation {
  messages: Message[]
  tools: Tool[] | null
  /** The kind of each turn, in order. */
  tasks: string[]
}

/** Share of each kind of turn. They add up to 1. */
const MIX: [share: number, create: (random: Random) => Turn][] = [
  [0.14, createSmallTalk],
  [0.29, createCopying],
  [0.1, createSum],
  [0.04, createDifference],
  [0.02, createCounting],
  [0.02, createComparison],
  [0.12, createToldColour],
  [0.04, createColourFact],
  [0.02, createColourChoice],
  [0.11, createYesNoMaybe],
  [0.03, createFact],
  [0.07, createUnknown],
]
const SYSTEM_SHARE = 0.15
const TOOLS_SHARE = 0.01
const NAME_SHARE = 0.06
/** Much more likely once a name was told. */
const NAME_QUESTION_SHARE = 0.02
const TOLD_NAME_QUESTION_SHARE = 0.2

function createTurn(random: Random): Turn {
  let rest = random.next()
  for (const [share, create] of MIX) {
    rest -= share
    if (rest < 0) return create(random)
  }
  return createSmallTalk(random)
}

/** A conversation of `turns` questions and answers, some under a system message, some with a name to remember. */
export function createConversation(random: Random, turns: number): Conversation {
  const messages: Message[] = []
  const tasks: string[] = []
  let name: string | null = null
  if (random.chance(SYSTEM_SHARE)) messages.push({ role: 'system', content: createSystemPrompt(random) })
  for (let index = 0; index < turns; index++) {
    const kind = random.next()
    let turn: Turn
    if (kind < NAME_SHARE) {
      name = pickName(random)
      turn = createIntroduction(random, name)
    } else if (kind < NAME_SHARE + (name ? TOLD_NAME_QUESTION_SHARE : NAME_QUESTION_SHARE))
      turn = createNameQuestion(random, name)
    else turn = createTurn(random)
    messages.push({ role: 'user', content: turn.exact ? turn.user : toVariant(random, turn.user) })
    messages.push({ role: 'assistant', content: turn.assistant })
    tasks.push(turn.task)
  }
  return { messages, tools: random.chance(TOOLS_SHARE) ? createTools(random) : null, tasks }
}

/** Turns of a conversation in the sample. */
const MOST_SAMPLE_TURNS = 4

/** The first `count` conversations of the corpus: what the tokenizer is trained on and the digest is taken of. */
export function createSampleCorpus(seed: number, count: number): Conversation[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => createConversation(random, random.between(1, MOST_SAMPLE_TURNS)))
}
