import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'

/**
 * Largest pattern, in instructions of its program: matching takes time in proportion to it and to the text. Repeats are written out,
 * so that a short pattern can be a large program.
 */
const MAX_INSTRUCTIONS = 2000
/** Instructions of all patterns that are kept compiled, which bounds the memory of their automata too. */
const KEPT_INSTRUCTIONS = 20_000

const compiled = new LRUCache<string, RE2JS>({
  maxSize: KEPT_INSTRUCTIONS,
  sizeCalculation: pattern => pattern.programSize(),
})

/** Why a pattern is refused, or null where it is fine. RE2 takes linear time, so neither judging nor matching can be made to hang. */
export function findPatternFault(source: string): string | null {
  try {
    const size = RE2JS.compile(source).programSize()
    return size > MAX_INSTRUCTIONS ? 'The regular expression is too large: it repeats too much' : null
  } catch (error) {
    return `Not a regular expression in RE2 syntax: ${(error as Error).message}`
  }
}

/** Whether the pattern is found anywhere in the text. Throws where findPatternFault finds a fault. */
export function isFound(source: string, text: string): boolean {
  const known = compiled.get(source)
  if (known) return known.test(text)
  const pattern = RE2JS.compile(source)
  compiled.set(source, pattern)
  return pattern.test(text)
}
