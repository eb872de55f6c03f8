/**
 * Free text in which marked sections follow a rule, as vLLM takes it: either `structures` and `triggers`, or a `format` of the
 * kinds below.
 * @see https://xgrammar.mlc.ai/docs/tutorials/structural_tag.html
 */
import { ConstraintError } from './constraint-error.ts'
import { ebnf } from './ebnf.ts'
import { freeText } from './free-text.ts'
import { alternatives, createRule, empty, literal, type Node, optional, repeat, sequence } from './grammar.ts'
import { jsonSchema } from './json-schema.ts'
import type { JsonStyle } from './json-style.ts'
import type { CompileBudget } from './limits.ts'
import { regularExpression } from './regular-expression.ts'
import { checkNames, type Fields, toBoolean, toFields, toList, toText, toTexts } from './structural-tag-fields.ts'

/** Throws a ConstraintError with the path into the tag. */
export function structuralTag(tag: unknown, style: JsonStyle, budget: CompileBudget): Node {
  const fields = toFields(tag, [])
  const compiler = new StructuralTagCompiler(style, budget)
  if (fields.value.format !== undefined) {
    checkNames(fields, ['type', 'format'])
    return compiler.compile(toFields(fields.value.format, ['format']), { kind: 'end' }, 1)
  }
  checkNames(fields, ['type', 'structures', 'triggers'])
  return compiler.compileStructures(fields)
}

/**
 * What comes after a format: nothing more, the end mark of the tag that it stands in, or something else, which free text
 * could not be told from.
 */
type Following = { kind: 'end' } | { kind: 'mark'; mark: string } | { kind: 'other' }

/** A tag: the text it begins with, and all that follows. */
interface Tag {
  begin: string
  rest: Node
}

interface TagOptions {
  mustHaveOne: boolean
  stopsAfterOne: boolean
}

class StructuralTagCompiler {
  readonly #style: JsonStyle
  readonly #budget: CompileBudget

  constructor(style: JsonStyle, budget: CompileBudget) {
    this.#style = style
    this.#budget = budget
  }

  /** The older form: after any of the triggers one of the structures that begin with it. */
  compileStructures(fields: Fields): Node {
    const tags = toList(fields, 'structures').map(item => {
      const structure = toFields(item.value, item.path)
      checkNames(structure, ['begin', 'schema', 'end'])
      const schema = jsonSchema(structure.value.schema ?? true, this.#style, this.#budget, [...item.path, 'schema'])
      return { begin: toText(structure, 'begin'), rest: sequence(schema, literal(toText(structure, 'end'))) }
    })
    const options = { mustHaveOne: false, stopsAfterOne: false }
    return this.#triggered(fields, tags, options, { kind: 'end' })
  }

  /** The format together with the end mark that follows it, if one does. */
  compile(format: Fields, following: Following, depth: number): Node {
    this.#budget.checkNesting(depth, format.path)
    this.#budget.spend(1, format.path)
    const end = following.kind === 'mark' ? literal(following.mark) : empty
    const kind = toText(format, 'type')
    const inside = (name: string) => [...format.path, name]
    switch (kind) {
      case 'const_string':
        checkNames(format, ['type', 'value'])
        return sequence(literal(toText(format, 'value')), end)
      case 'json_schema':
        checkNames(format, ['type', 'json_schema'])
        return sequence(jsonSchema(format.value.json_schema, this.#style, this.#budget, inside('json_schema')), end)
      case 'regex':
        checkNames(format, ['type', 'pattern'])
        return sequence(
          relocated(inside('pattern'), () => regularExpression(toText(format, 'pattern'), this.#budget)),
          end,
        )
      case 'grammar':
        checkNames(format, ['type', 'grammar'])
        return sequence(
          relocated(inside('grammar'), () => ebnf(toText(format, 'grammar'), this.#budget)),
          end,
        )
      case 'sequence':
        checkNames(format, ['type', 'elements'])
        return this.#sequence(format, following, depth)
      case 'or': {
        checkNames(format, ['type', 'elements'])
        const elements = toList(format, 'elements')
        return alternatives(
          ...elements.map(({ value, path }) => this.compile(toFields(value, path), following, depth + 1)),
        )
      }
      case 'tag': {
        const { begin, rest } = this.#tag(format, depth)
        return sequence(literal(begin), rest, end)
      }
      case 'any_text':
        checkNames(format, ['type'])
        return this.#freeText([], format, following, true, () => empty)
      case 'triggered_tags':
        checkNames(format, ['type', 'triggers', 'tags', 'at_least_one', 'stop_after_first'])
        return this.#triggered(format, this.#tags(format, depth), toTagOptions(format), following)
      case 'tags_with_separator':
        checkNames(format, ['type', 'tags', 'separator', 'at_least_one', 'stop_after_first'])
        return sequence(this.#separated(format, depth), end)
      default:
        throw new ConstraintError(inside('type'), `the format ${kind} is not supported`)
    }
  }

  #sequence(format: Fields, following: Following, depth: number): Node {
    const elements = toList(format, 'elements')
    return sequence(
      ...elements.map(({ value, path }, index) => {
        const isLast = index === elements.length - 1
        return this.compile(toFields(value, path), isLast ? following : { kind: 'other' }, depth + 1)
      }),
    )
  }

  #tags(format: Fields, depth: number): Tag[] {
    return toList(format, 'tags').map(({ value, path }) => this.#tag(toFields(value, path), depth + 1))
  }

  #tag(format: Fields, depth: number): Tag {
    checkNames(format, ['type', 'begin', 'content', 'end'])
    const content = toFields(format.value.content, [...format.path, 'content'])
    const mark = toText(format, 'end')
    const following: Following = mark === '' ? { kind: 'other' } : { kind: 'mark', mark }
    return { begin: toText(format, 'begin'), rest: this.compile(content, following, depth + 1) }
  }

  #triggered(format: Fields, tags: readonly Tag[], options: TagOptions, following: Following): Node {
    const triggers = toTexts(format, 'triggers')
    const untriggered = tags.find(({ begin }) => !triggers.some(trigger => begin.startsWith(trigger)))
    if (untriggered) {
      throw new ConstraintError(format.path, `no trigger begins the tag ${JSON.stringify(untriggered.begin)}`)
    }
    const needless = triggers.find(trigger => !tags.some(({ begin }) => begin.startsWith(trigger)))
    if (needless !== undefined) {
      throw new ConstraintError(
        [...format.path, 'triggers'],
        `no tag begins with the trigger ${JSON.stringify(needless)}`,
      )
    }
    const tagAfter = (trigger: string) =>
      alternatives(
        ...tags
          .filter(({ begin }) => begin.startsWith(trigger))
          .map(({ begin, rest }) => sequence(literal(begin.slice(trigger.length)), rest)),
      )
    const anotherOne = createRule('text with tags')
    const afterTags = options.stopsAfterOne ? this.#end(following) : anotherOne
    const text = (mayEnd: boolean) =>
      this.#freeText(triggers, format, following, mayEnd, trigger => sequence(tagAfter(trigger), afterTags))
    anotherOne.body = text(true)
    return options.mustHaveOne ? text(false) : anotherOne
  }

  #separated(format: Fields, depth: number): Node {
    const { mustHaveOne, stopsAfterOne } = toTagOptions(format)
    const tags = this.#tags(format, depth)
    const one = createRule('a tag', alternatives(...tags.map(({ begin, rest }) => sequence(literal(begin), rest))))
    const more = stopsAfterOne ? empty : repeat(sequence(literal(toText(format, 'separator')), one), 0, null)
    return mustHaveOne ? sequence(one, more) : optional(sequence(one, more))
  }

  /** Free text up to a trigger, or up to what follows it where it may end. */
  #freeText(
    triggers: readonly string[],
    format: Fields,
    following: Following,
    mayEnd: boolean,
    afterTrigger: (trigger: string) => Node,
  ): Node {
    if (following.kind === 'other') {
      throw new ConstraintError(format.path, 'free text can stand only at the end, or before the end of a tag')
    }
    const end = following.kind === 'mark' && mayEnd ? following.mark : null
    return freeText(
      end === null ? triggers : [...triggers, end],
      mayEnd && following.kind === 'end',
      completed => alternatives(...completed.map(mark => (mark === end ? empty : afterTrigger(mark)))),
      this.#budget,
    )
  }

  #end(following: Following): Node {
    return following.kind === 'mark' ? literal(following.mark) : empty
  }
}

function toTagOptions(format: Fields): TagOptions {
  return {
    mustHaveOne: toBoolean(format, 'at_least_one'),
    stopsAfterOne: toBoolean(format, 'stop_after_first'),
  }
}

/** Errors of an inner rule, with the path to it. */
function relocated(path: readonly string[], compile: () => Node): Node {
  try {
    return compile()
  } catch (error) {
    if (error instanceof ConstraintError) throw new ConstraintError([...path, ...error.path], error.message)
    throw error
  }
}
