/** Escapes that stand for a class of characters, or for a place between two. */
const ESCAPED_CLASS = /[dDwWsSbBAz]/
const PUNCTUATION = /[!-/:-@[-`{-~]/
const REPEAT = /^\{\d+(,\d*)?\}/
/** Quoted stretches, and characters of two code units: rare enough to be left to the pattern itself. */
const UNUSUAL = /\\Q|[\ud800-\udfff]/

/**
 * Texts that every text must hold in which an RE2 pattern is found. It looks at what stands outside groups only, and gives none where
 * it does not understand: a text without one of them needs no matching, a text with all of them does.
 */
export function toLiterals(pattern: string): string[] {
  if (UNUSUAL.test(pattern)) return []
  const literals: string[] = []
  let literal = ''
  const end = () => {
    if (literal) literals.push(literal)
    literal = ''
  }
  for (let at = 0; at < pattern.length; ) {
    const atom = readAtom(pattern, at)
    if (!atom) return []
    at = atom.end
    const repeat = readRepeat(pattern, at)
    at += repeat.length
    if (atom.text === null) end()
    else if (repeat === '') literal += atom.text
    else {
      if (repeat.startsWith('+')) literal += atom.text
      end()
    }
  }
  end()
  return literals
}

/** One character, class or group and where it ends; `text` is the character where it stands for itself. Null: not understood. */
function readAtom(pattern: string, at: number): { text: string | null; end: number } | null {
  const character = pattern[at]!
  if (character === '|' || character === '{') return null
  if (character === '(') return pattern[at + 1] === '?' ? null : { text: null, end: endOfGroup(pattern, at) }
  if (character === '[') return { text: null, end: endOfClass(pattern, at) }
  if (character === '^' || character === '$' || character === '.') return { text: null, end: at + 1 }
  if (character !== '\\') return { text: character, end: at + 1 }
  const escaped = pattern[at + 1] ?? ''
  if (ESCAPED_CLASS.test(escaped)) return { text: null, end: at + 2 }
  return PUNCTUATION.test(escaped) ? { text: escaped, end: at + 2 } : null
}

/** The repeat after an atom, such as `+?`; empty where there is none. */
function readRepeat(pattern: string, at: number): string {
  const simple = '*+?'.includes(pattern[at] || ' ') ? pattern[at]! : (REPEAT.exec(pattern.slice(at))?.[0] ?? '')
  return simple && pattern[at + simple.length] === '?' ? `${simple}?` : simple
}

function endOfGroup(pattern: string, start: number): number {
  let at = start + 1
  while (at < pattern.length && pattern[at] !== ')') {
    if (pattern[at] === '\\') at += 2
    else if (pattern[at] === '(') at = endOfGroup(pattern, at)
    else if (pattern[at] === '[') at = endOfClass(pattern, at)
    else at++
  }
  return at + 1
}

function endOfClass(pattern: string, start: number): number {
  let at = start + 1
  if (pattern[at] === '^') at++
  // A bracket that comes first stands for itself.
  if (pattern[at] === ']') at++
  while (at < pattern.length && pattern[at] !== ']') {
    const named = pattern.startsWith('[:', at) ? pattern.indexOf(':]', at) : -1
    if (named >= 0) at = named + 2
    else at += pattern[at] === '\\' ? 2 : 1
  }
  return at + 1
}
