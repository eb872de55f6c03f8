/**
 * JSON Schema 2020-12 as a grammar. Every text of the grammar is a value that matches the schema; keywords that cannot be
 * followed are refused by name. `oneOf` is read as `anyOf`: that no second branch matches is for the branches to make sure of.
 */
import { anyBoolean, createAnyJson, jsonNull } from './any-json.ts'
import { ConstraintError } from './constraint-error.ts'
import { alternatives, createRule, type Node, nothing, type Rule } from './grammar.ts'
import { arrayNode } from './json-schema-arrays.ts'
import { enumNode, hasEnum } from './json-schema-enum.ts'
import { allowedTypes, checkKeywords, constrains, type JsonType } from './json-schema-keywords.ts'
import { numberNode } from './json-schema-numbers.ts'
import { objectNode } from './json-schema-objects.ts'
import { type Located, type Part, type SchemaContext, schemaListOf, valuesOf } from './json-schema-parts.ts'
import { checkSize, findReferenced } from './json-schema-references.ts'
import { stringNode } from './json-schema-strings.ts'
import type { JsonStyle } from './json-style.ts'
import type { CompileBudget } from './limits.ts'

/** Throws a ConstraintError whose path leads to the keyword at fault, below `path`. */
export function jsonSchema(
  schema: unknown,
  style: JsonStyle,
  budget: CompileBudget,
  path: readonly string[] = [],
): Node {
  checkSize(schema, budget, path)
  return new JsonSchemaCompiler({ schema, path }, style, budget).compileAll()
}

/** Schemas that must all match, with their references and `allOf` resolved, and the unions of which one branch must match. */
interface Conjunction {
  parts: readonly Part[]
  unions: readonly Union[]
  isImpossible: boolean
}

interface Union {
  branches: readonly Located[]
  /** The schemas that led here: a branch that leads back to one of them would never end. */
  within: readonly unknown[]
}

const unrestricted: Conjunction = { parts: [], unions: [], isImpossible: false }

class JsonSchemaCompiler implements SchemaContext {
  readonly style: JsonStyle
  readonly budget: CompileBudget
  readonly #root: Located
  readonly #any: ReturnType<typeof createAnyJson>
  readonly #ids = new Map<unknown, number>()
  readonly #rules = new Map<string, Rule>()
  readonly #waiting: { rule: Rule; schemas: readonly Located[] }[] = []

  constructor(root: Located, style: JsonStyle, budget: CompileBudget) {
    this.#root = root
    this.style = style
    this.budget = budget
    this.#any = createAnyJson(style)
  }

  compileAll(): Node {
    const root = this.compile([this.#root])
    // compiling one schema makes others wait, which the loop then comes to
    for (const { rule, schemas } of this.#waiting) {
      rule.body = this.#toNode(schemas.reduce((all, schema) => this.#add(all, schema, []), unrestricted))
    }
    return root
  }

  /** The same schemas give the same rule, so that a schema may contain itself. */
  compile(schemas: readonly Located[]): Node {
    const key = [...new Set(schemas.map(({ schema }) => this.#idOf(schema)))].sort().join()
    const known = this.#rules.get(key)
    if (known) return known
    const path = schemas[0]?.path ?? this.#root.path
    this.budget.spend(1, path)
    const rule = createRule(`the schema at /${path.join('/')}`)
    this.#rules.set(key, rule)
    this.#waiting.push({ rule, schemas })
    return rule
  }

  #idOf(schema: unknown): number {
    const known = this.#ids.get(schema)
    if (known !== undefined) return known
    this.#ids.set(schema, this.#ids.size)
    return this.#ids.size - 1
  }

  #add(all: Conjunction, located: Located, within: readonly unknown[]): Conjunction {
    const { schema, path } = located
    if (schema === true) return all
    if (schema === false) return { ...all, isImpossible: true }
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new ConstraintError(path, 'must be a schema: an object, true or false')
    }
    if (within.includes(schema)) throw new ConstraintError(path, 'refers to itself, which leads nowhere')
    if (all.parts.some(part => part.schema === schema)) return all
    this.budget.checkNesting(within.length, path)
    this.budget.spend(1 + all.parts.length, path)
    const part = { schema: schema as Part['schema'], path }
    checkKeywords(part)
    const inside = [...within, schema]
    const unions = ['anyOf', 'oneOf'].filter(keyword => Object.hasOwn(schema, keyword))
    const joined: Conjunction = {
      ...all,
      parts: [...all.parts, part],
      unions: [...all.unions, ...unions.map(keyword => ({ branches: branchesOf(part, keyword), within: inside }))],
    }
    const references = valuesOf([part], '$ref').map(reference => findReferenced(this.#root, reference))
    const required = Object.hasOwn(schema, 'allOf') ? branchesOf(part, 'allOf') : []
    return [...references, ...required].reduce((sum, other) => this.#add(sum, other, inside), joined)
  }

  #toNode({ parts, unions, isImpossible }: Conjunction): Node {
    if (isImpossible) return nothing
    const [union, ...others] = unions
    if (!union) return this.#valueNode(parts)
    const rest = { parts, unions: others, isImpossible }
    return alternatives(...union.branches.map(branch => this.#toNode(this.#add(rest, branch, union.within))))
  }

  #valueNode(parts: readonly Part[]): Node {
    if (hasEnum(parts)) return enumNode(parts, this)
    const { types, isInteger } = allowedTypes(parts)
    const saysNothing = !parts.some(({ schema }) => schema.type !== undefined) && !constrainsAny(parts)
    if (saysNothing) return this.#any.value
    return alternatives(...[...types].map(type => this.#typeNode(type, parts, isInteger)))
  }

  #typeNode(type: JsonType, parts: readonly Part[], isInteger: boolean): Node {
    switch (type) {
      case 'null':
        return jsonNull
      case 'boolean':
        return anyBoolean
      case 'number':
        return numberNode(parts, isInteger)
      case 'string':
        return stringNode(parts, this.budget)
      case 'array':
        return constrains(parts, 'array') ? arrayNode(parts, this) : this.#any.array
      case 'object':
        return constrains(parts, 'object') || this.style.disableAdditionalProperties
          ? objectNode(parts, this)
          : this.#any.object
    }
  }
}

function constrainsAny(parts: readonly Part[]): boolean {
  return (['object', 'array', 'number', 'string'] as const).some(type => constrains(parts, type))
}

function branchesOf(part: Part, keyword: string): Located[] {
  const branches = schemaListOf(part, keyword)
  if (branches.length === 0) throw new ConstraintError([...part.path, keyword], 'must have at least one schema')
  return branches
}
