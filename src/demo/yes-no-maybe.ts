/**
 * A task that any chat model can be taught by rewards alone: asked to answer with one of a few words, it is paid by the
 * word. Nothing in the prompts says which word pays best, so only the rewards can have taught it.
 */

const REWARDS: Record<string, number> = { yes: 0.5, no: 0.75, maybe: 1 }
const WORDS = Object.keys(REWARDS)

/** What a perfect player gets for every answer. */
export const BEST_REWARD = Math.max(...Object.values(REWARDS))

/** The reward of an answer: that of the word when the answer is nothing but the word, else 0. */
export function toReward(answer: string): number {
  return Object.hasOwn(REWARDS, answer) ? REWARDS[answer]! : 0
}

/** Every ordered list of two or of three of the words: 12. */
const WORD_LISTS = WORDS.flatMap(first =>
  WORDS.filter(second => second !== first).flatMap(second => {
    const third = WORDS.find(word => word !== first && word !== second)!
    return [
      [first, second],
      [first, second, third],
    ]
  }),
)

/** All 48 prompts: two ways to ask, words with and without quotes, every list of words. */
export const PROMPTS = ['respond', 'just respond'].flatMap(verb =>
  ["'", ''].flatMap(quote =>
    WORD_LISTS.map(words =>
      toPrompt(
        verb,
        words.map(word => quote + word + quote),
      ),
    ),
  ),
)

function toPrompt(verb: string, words: string[]): string {
  return `${verb} with ${words.join(words.length === 2 ? ' or ' : ', ')}`
}

/** A different slice of the prompts for each step, so that all of them come up in turn. */
export function pickPrompts(step: number, count: number): string[] {
  // Neighbours in the list are much alike; a stride that shares no factor with its length visits all of it, well mixed.
  const stride = 19
  return Array.from({ length: count }, (_, i) => PROMPTS[((step * count + i) * stride) % PROMPTS.length]!)
}
