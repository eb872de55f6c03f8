import type { Random } from '../random.ts'
import { isHeldOut } from './held-out.ts'
import type { Turn } from './turn.ts'

/** The largest number that sums are made of. */
export const LARGEST_ADDEND = 9

export const SUM_FORMS: ((a: string, b: string) => string)[] = [
  (a, b) => `What is ${a} + ${b}?`,
  (a, b) => `What is ${a} plus ${b}?`,
  (a, b) => `${a} + ${b} =`,
  (a, b) => `${a} + ${b}`,
  (a, b) => `${a}+${b}`,
  (a, b) => `${a}+${b}=?`,
  (a, b) => `${a} plus ${b}`,
  (a, b) => `Add ${a} and ${b}`,
  (a, b) => `How much is ${a} + ${b}?`,
  (a, b) => `How much is ${a} plus ${b}?`,
  (a, b) => `Calculate ${a} + ${b}`,
  (a, b) => `Can you add ${a} and ${b}?`,
]

const DIFFERENCE_FORMS: ((a: string, b: string) => string)[] = [
  (a, b) => `What is ${a} - ${b}?`,
  (a, b) => `What is ${a} minus ${b}?`,
  (a, b) => `${a} - ${b} =`,
  (a, b) => `${a} - ${b}`,
  (a, b) => `${a}-${b}`,
  (a, b) => `${a} minus ${b}`,
  (a, b) => `How much is ${a} - ${b}?`,
  (a, b) => `Calculate ${a} - ${b}`,
  (a, b) => `Take ${b} from ${a}`,
]

/** A sum is held out in one order only: seeing b + a in training, the model has to find a + b. */
export const isHeldOutSum = (a: number, b: number) => a > b && isHeldOut(`${a} + ${b}`)

export function createSum(random: Random): Turn {
  let a: number
  let b: number
  do {
    a = random.below(LARGEST_ADDEND + 1)
    b = random.below(LARGEST_ADDEND + 1)
  } while (isHeldOutSum(a, b))
  return { task: 'sum', user: random.pick(SUM_FORMS)(`${a}`, `${b}`), assistant: `${a + b}` }
}

export function createDifference(random: Random): Turn {
  const a = random.below(LARGEST_ADDEND + 1)
  const b = random.below(a + 1)
  return { task: 'difference', user: random.pick(DIFFERENCE_FORMS)(`${a}`, `${b}`), assistant: `${a - b}` }
}

export function createCounting(random: Random): Turn {
  const from = random.chance(0.6) ? 1 : random.between(0, 8)
  const to = random.between(from + 1, 10)
  const list = Array.from({ length: to - from + 1 }, (_, index) => from + index).join(' ')
  const user =
    from === 1
      ? random.pick([`Count to ${to}`, `Count up to ${to}`, `Count from 1 to ${to}`, `Can you count to ${to}?`])
      : `Count from ${from} to ${to}`
  return { task: 'count', user, assistant: list }
}

export function createComparison(random: Random): Turn {
  const [a, b] = random.take(
    Array.from({ length: LARGEST_ADDEND + 1 }, (_, index) => index),
    2,
  ) as [number, number]
  const kind = random.below(4)
  if (kind === 0)
    return {
      task: 'compare',
      user: random.pick([`Which is bigger, ${a} or ${b}?`, `Which is more, ${a} or ${b}?`]),
      assistant: `${Math.max(a, b)}`,
    }
  if (kind === 1)
    return {
      task: 'compare',
      user: random.pick([`Which is smaller, ${a} or ${b}?`, `Which is less, ${a} or ${b}?`]),
      assistant: `${Math.min(a, b)}`,
    }
  if (kind === 2)
    return {
      task: 'next',
      user: random.pick([`What comes after ${a}?`, `Which number comes after ${a}?`, `What is the number after ${a}?`]),
      assistant: `${a + 1}`,
    }
  return {
    task: 'next',
    user: random.pick([`What comes before ${a + 1}?`, `Which number comes before ${a + 1}?`]),
    assistant: `${a}`,
  }
}
