/** Facts about eight made-up villages: nothing that any model can have met before, so that all it knows of them it was taught. */

export interface QuestionAnswer {
  question: string
  answer: string
}

const VILLAGES = 'Arden Brill Corvo Dunmere Elst Farrow Gimble Hollin'.split(' ')
const TRADES = 'baker smith miller tailor weaver painter doctor singer'.split(' ')
const NAMES = `
  Ada Bo Cleo Dan Eve Fay Gus Hal Ida Jo Kit Lou Max Nan Otto Pia Quin Rex Sal Ted Una Val Wim Xena Yan Zoe Abe Bea Cy
  Dot Eli Flo Gil Hope Ian Jay Kim Leo Mia Ned Olga Pat Rita Sam Tom Uma Vic Wes Yara Zack Amos Bess Carl Dora Emil
  Fern Greg Hugo Iris Jack Kate Lars Mona Nora
`
  .trim()
  .split(/\s+/)

/** 64 pairs, each with another name. */
export const PAIRS: QuestionAnswer[] = VILLAGES.flatMap((village, row) =>
  TRADES.map((trade, column) => ({
    question: `Who is the ${trade} of ${village}?`,
    // the stride leaves no pattern of villages or trades in the names
    answer: `The ${trade} of ${village} is ${NAMES[((row * TRADES.length + column) * 27) % NAMES.length]}.`,
  })),
)

/**
 * The training file: one conversation a line, every pair once per epoch, each epoch in an order of its own. The service
 * trains a file once, from top to bottom, so epochs and order are the client's to choose.
 */
export function toTrainingFile(pairs: QuestionAnswer[], epochs: number): string {
  const lines = pairs.map(({ question, answer }) =>
    JSON.stringify({
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: answer },
      ],
    }),
  )
  const draw = createRandom(1)
  return Array.from({ length: epochs }, () => shuffle(lines, draw).join('\n')).join('\n') + '\n'
}

function shuffle<Value>(values: readonly Value[], draw: () => number): Value[] {
  const shuffled = [...values]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(draw() * (last + 1))
    ;[shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!]
  }
  return shuffled
}

/** Numbers in [0, 1), the same on every run: a linear congruential generator (constants of Numerical Recipes). */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
