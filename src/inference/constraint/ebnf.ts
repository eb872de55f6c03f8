/**
 * Grammars in EBNF as llama.cpp's GBNF and XGrammar write them: `root ::= "a" [0-9]+ (other | "")`, comments after #. A rule
 * ends where the next one begins, so line breaks may stand anywhere.
 * @see https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
 */
import { anyCharacter, contains, toUtf8 } from './character-set.ts'
import { ConstraintError } from './constraint-error.ts'
import { alternatives, createRule, literal, type Node, type Rule, repeat, sequence } from './grammar.ts'
import type { CompileBudget } from './limits.ts'
import { readCharacterClass, readCount, readEscape } from './notation.ts'
import { TextReader } from './text-reader.ts'

const ROOT = 'root'

/** The texts of the rule `root`. Throws a ConstraintError for malformed text, an unknown rule, or one defined twice. */
export function ebnf(text: string, budget: CompileBudget): Node {
  budget.checkLength(text.length)
  return new EbnfReader(text, budget).readGrammar()
}

class EbnfReader {
  readonly #reader: TextReader
  readonly #budget: CompileBudget
  readonly #rules = new Map<string, Rule>()
  readonly #defined = new Set<string>()
  /** Where each rule was first used. */
  readonly #uses = new Map<string, number>()

  constructor(text: string, budget: CompileBudget) {
    this.#reader = new TextReader(text, [])
    this.#budget = budget
  }

  readGrammar(): Node {
    this.#skipSpace()
    while (!this.#reader.isAtEnd) this.#readRule()
    for (const [name, at] of this.#uses) {
      if (!this.#defined.has(name)) this.#reader.fail(`the rule ${name} is not defined`, at)
    }
    if (!this.#defined.has(ROOT)) throw new ConstraintError([], `has no rule ${ROOT}`)
    return this.#rule(ROOT)
  }

  #readRule(): void {
    const at = this.#reader.position
    const name = this.#readName()
    if (name === '') this.#reader.fail('a rule begins with its name')
    this.#skipSpace()
    this.#reader.expect('::=')
    if (this.#defined.has(name)) this.#reader.fail(`the rule ${name} is defined twice`, at)
    this.#defined.add(name)
    this.#skipSpace()
    this.#rule(name).body = this.#readAlternatives(1)
    if (this.#reader.peek() === ')') this.#reader.fail('has a ) without its (')
  }

  #readAlternatives(depth: number): Node {
    this.#budget.checkNesting(depth)
    const options: Node[] = []
    do {
      this.#skipSpace()
      options.push(this.#readSequence(depth))
    } while (this.#reader.takeIf('|'))
    return alternatives(...options)
  }

  #readSequence(depth: number): Node {
    const parts: Node[] = []
    while (!this.#reader.isAtEnd && !'|)'.includes(this.#reader.peek()) && !this.#isAtRule()) {
      this.#budget.spend(1)
      const part = this.#readPart(depth)
      this.#skipSpace()
      const count = readCount(this.#reader)
      parts.push(count ? repeat(part, count.min, count.max) : part)
      this.#skipSpace()
    }
    return sequence(...parts)
  }

  #readPart(depth: number): Node {
    const reader = this.#reader
    const at = reader.position
    if (reader.takeIf('"')) return this.#readLiteral()
    if (reader.takeIf('[')) return toUtf8(readCharacterClass(reader))
    if (reader.takeIf('.')) return toUtf8(anyCharacter)
    if (reader.takeIf('(')) {
      if (reader.takeIf('?=') || reader.takeIf('?!')) reader.fail('look-ahead is not supported', at)
      const inside = this.#readAlternatives(depth + 1)
      if (!reader.takeIf(')')) reader.fail('has a ( without its )', at)
      return inside
    }
    const name = this.#readName()
    if (name === '') reader.fail(`${JSON.stringify(reader.peek())} is not part of this notation`)
    if (!this.#uses.has(name)) this.#uses.set(name, at)
    return this.#rule(name)
  }

  #readLiteral(): Node {
    let text = ''
    while (!this.#reader.takeIf('"')) {
      const at = this.#reader.position
      const character = this.#reader.take('the closing " of a literal')
      if (character !== '\\') {
        text += character
        continue
      }
      const set = readEscape(this.#reader)
      if (set.length !== 1 || set[0][0] !== set[0][1]) this.#reader.fail('this escape is not one character', at)
      if (contains([[0xd800, 0xdfff]], set[0][0])) this.#reader.fail('is half a surrogate pair', at)
      text += String.fromCodePoint(set[0][0])
    }
    return literal(text)
  }

  #readName(): string {
    return this.#reader.takeWhile(/[A-Za-z0-9_-]/)
  }

  #rule(name: string): Rule {
    const known = this.#rules.get(name)
    if (known) return known
    const rule = createRule(`the rule ${name}`)
    this.#rules.set(name, rule)
    return rule
  }

  /** Whether the next rule begins here: a name and ::=. */
  #isAtRule(): boolean {
    const start = this.#reader.position
    const name = this.#readName()
    this.#skipSpace()
    const isRule = name !== '' && this.#reader.takeIf('::=')
    this.#reader.position = start
    return isRule
  }

  /** White space and comments. */
  #skipSpace(): void {
    this.#reader.takeWhile(/\s/)
    while (this.#reader.takeIf('#')) {
      this.#reader.takeWhile(/[^\n]/)
      this.#reader.takeWhile(/\s/)
    }
  }
}
