/** Cases of path, query and header parameters, which are texts whatever their type. */

import type { Operation, Parameter, SchemaObject } from '../../spec/document.ts'
import { resolveSchema } from '../../spec/document.ts'
import type { CallOptions } from '../client.ts'
import { TEAM } from './body-cases.ts'
import { allowedValuesOf, type Breach, breachesOf } from './breaches.ts'
import type { DerivedCase, FieldRules } from './derived-case.ts'
import { sampleOf, typesOf } from './sample-value.ts'

const HEADER_TEXT = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/** `rules`, of queries, as for bodies; null: no case is to be accepted. Headers are not the operation's alone, so they are only refused. */
export function parameterCasesOf(operation: Operation, good: CallOptions, rules: FieldRules | null): DerivedCase[] {
  return operation.parameters.flatMap((parameter, index) => {
    const schema = resolveSchema(parameter.schema, operation.components)
    if (typeof schema === 'boolean') return []
    const place = { operation, parameter, schema, good, pointer: `${operation.pointer}/parameters/${index}` }
    const isCertain = rules !== null && !rules[parameter.name]?.isUncertain
    const isTeam = parameter.name === TEAM
    return [
      ...(isTeam ? [] : breachesOfText(place)),
      ...(isTeam || parameter.in !== 'query' ? [] : repetitionOf(place)),
      ...(parameter.in === 'query' ? removalOf(place, isCertain) : []),
      ...(isTeam || !isCertain || parameter.in === 'header' ? [] : allowedOf(place)),
    ]
  })
}

interface Place {
  operation: Operation
  parameter: Parameter
  schema: SchemaObject
  good: CallOptions
  pointer: string
}

function breachesOfText(place: Place): DerivedCase[] {
  const types = typesOf(place.schema)
  const isText = types.includes('string')
  const { parameter } = place
  const word: Breach = { rule: 'type', what: 'a word instead of a number', keyword: 'type', value: 'ten', rank: 0 }
  const empty: Breach = {
    rule: 'bounds',
    what: 'empty',
    keyword: isText ? 'minLength' : 'type',
    value: '',
    rank: 1,
    isSubtle: true,
  }
  const isEmptyWrong = !isText || typeof place.schema.minLength === 'number' || place.schema.enum || place.schema.format
  if (types.includes('array')) return []
  return breachesOf(place.schema)
    .filter(({ rule }) => rule !== 'null' && rule !== 'lookalike')
    .filter(({ rule, value }) => rule !== 'type' || (!isText && typeof value === 'number'))
    .filter(({ value }) => value !== '')
    .concat(isText ? [] : [word], parameter.in === 'query' && isEmptyWrong ? [empty] : [])
    .filter(({ value }) => isSendable(parameter, String(value)))
    .map(breach => toCase(place, breach, String(breach.value)))
}

/** The text can be sent there at all, and is not taken for another place. */
function isSendable(parameter: Parameter, text: string): boolean {
  if (parameter.in === 'header') return HEADER_TEXT.test(text)
  // Many servers and proxies refuse an escaped slash or NUL in a path before they look for the operation.
  return parameter.in !== 'path' || (text !== '' && !/[/\\]|\p{Cc}|^\.\.?$/u.test(text) && text.trim() === text)
}

function repetitionOf(place: Place): DerivedCase[] {
  if (typesOf(place.schema).includes('array')) return []
  const value = place.good.query?.[place.parameter.name] ?? sampleOf(place.schema, place.operation.components)
  if (value === undefined) return []
  const breach: Breach = { rule: 'repeated', what: 'given twice', keyword: '', value, rank: 1, isSubtle: true }
  return [toCase(place, breach, [String(value), String(value)])]
}

function removalOf(place: Place, mayAccept: boolean): DerivedCase[] {
  const { parameter, good } = place
  const isGiven = good.query?.[parameter.name] !== undefined
  if (!isGiven || !(parameter.required || mayAccept)) return []
  const rule = parameter.required ? 'required' : 'optional'
  return [toCase(place, { rule, what: 'removed', keyword: '', value: undefined, rank: 0 }, undefined)]
}

function allowedOf(place: Place): DerivedCase[] {
  if (typesOf(place.schema).includes('array')) return []
  const { parameter, good, schema } = place
  const own = parameter.in === 'path' ? good.path?.[parameter.name] : good.query?.[parameter.name]
  // The id of something else might name it.
  const textOf = ({ value }: Breach) => String(schema.format === 'uuid' && own ? own : value)
  return allowedValuesOf(schema)
    .filter(({ value }) => isSendable(parameter, String(value)))
    .map(breach => toCase(place, breach, schema.format === 'uuid' ? textOf(breach).toUpperCase() : textOf(breach)))
}

function toCase(place: Place, breach: Breach, value: string | string[] | undefined): DerivedCase {
  const { parameter, good } = place
  const key = parameter.in === 'header' ? 'headers' : parameter.in
  const isWrong = breach.rule !== 'allowed' && breach.rule !== 'optional'
  return {
    rule: breach.rule,
    name: `${parameter.in} ${parameter.name} ${breach.what}`,
    options: { ...good, [key]: { ...good[key], [parameter.name]: value } },
    loc: isWrong ? [parameter.in, parameter.name] : null,
    pointer: breach.keyword === '' ? place.pointer : `${place.pointer}/schema/${breach.keyword}`,
    isSubtle: breach.isSubtle === true,
    rank: breach.rank,
  }
}
