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
  [0.17, createSmallTalk],
  [0.22, createCopying],
  [0.11, createSum],
  [0.05, createDifference],
  [0.03, createCounting],
  [0.03, createComparison],
  [0.08, createToldColour],
  [0.05, createColourFact],
  [0.02, createColourChoice],
  [0.14, createYesNoMaybe],
  [0.03, createFact],
  [0.07, createUnknown],
]
const SYSTEM_SHARE = 0.25
const TOOLS_SHARE = 0.03
const NAME_SHARE = 0.07
const NAME_QUESTION_SHARE = 0.05

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
    } else if (kind < NAME_SHARE + (name ? 4 : 0.4) * NAME_QUESTION_SHARE) turn = createNameQuestion(random, name)
    else turn = createTurn(random)
    messages.push({ role: 'user', content: turn.exact ? turn.user : toVariant(random, turn.user) })
    messages.push({ role: 'assistant', content: turn.assistant })
    tasks.push(turn.task)
  }
  return { messages, tools: random.chance(TOOLS_SHARE) ? createTools(random) : null, tasks }
}

/** Number of turns: one in most conversations, with a long tail up to `most`. */
export function pickTurns(random: Random, most: number): number {
  let turns = 1
  while (turns < most && random.chance(turns === 1 ? 0.4 : 0.7)) turns++
  return turns
}

/** The first `count` conversations of the corpus: what the tokenizer is trained on and the digest is taken of. */
export function createSampleCorpus(seed: number, count: number): Conversation[] {
  const random = createRandom(seed)
  return Array.from({ length: count }, () => createConversation(random, pickTurns(random, 4)))
}
