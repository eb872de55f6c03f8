import type { Random } from '../random.ts'

/** Characters: nobody writes much in capitals. */
const LONGEST_SHOUT = 25

/** How people really type: without capitals, without the question mark, with a please, with a slip of the finger. */
export function toVariant(random: Random, text: string): string {
  if (random.chance(0.45)) return text
  let variant = text
  if (random.chance(0.5)) variant = variant.toLowerCase()
  else if (text.length <= LONGEST_SHOUT && random.chance(0.1)) variant = variant.toUpperCase()
  const kind = random.next()
  if (kind < 0.35) variant = variant.replace(/[.!?]+$/, '')
  else if (kind < 0.5) variant = variant.replace(/[.!]+$/, '') + random.pick(['!', '.', '!!', '...', ' ', ' :)'])
  else if (kind < 0.58 && !/please/i.test(variant)) variant = variant.replace(/[.!?]*$/, ending => `, please${ending}`)
  else if (kind < 0.63 && variant.length > 5) variant = toSlip(random, variant)
  return variant
}

/** Drops or swaps one letter inside the text. */
function toSlip(random: Random, text: string): string {
  const at = random.between(1, text.length - 3)
  if (random.chance(0.5)) return text.slice(0, at) + text.slice(at + 1)
  return text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2)
}
