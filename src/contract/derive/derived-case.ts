/** What the generator gives: requests that differ from a good one in one place, and what must become of them. */
import type { CallOptions } from '../client.ts'

/** The rule that a case tries; a check is made of all cases of one rule. */
export type Rule =
  | 'required'
  | 'null'
  | 'type'
  | 'lookalike'
  | 'bounds'
  | 'values'
  | 'format'
  | 'repeated'
  | 'optional'
  | 'allowed'
  | 'huge'

/** refused: a 422. accepted: as the good request is, or a success. answered: anything but a fault of the service. */
export type Expectation = 'refused' | 'accepted' | 'answered'

export const EXPECTATIONS: Readonly<Record<Rule, Expectation>> = {
  required: 'refused',
  null: 'refused',
  type: 'refused',
  lookalike: 'refused',
  bounds: 'refused',
  values: 'refused',
  format: 'refused',
  repeated: 'refused',
  optional: 'accepted',
  allowed: 'accepted',
  huge: 'answered',
}

export interface DerivedCase {
  rule: Rule
  /** What is different, such as `temperature below its minimum`. Unique among the cases of an operation. */
  name: string
  options: CallOptions
  /** Where a 422 must say that the fault is; null where nothing is at fault. */
  loc: readonly string[] | null
  /** JSON pointer into the contract: the statement that the case comes from. */
  pointer: string
  /** Only a strict validator finds it: mocks let it pass. */
  isSubtle: boolean
  /** How little it tells: where there are too many cases, those of a low rank are kept. */
  rank: number
}

/** Two requests that mean the same, so that their answers must be the same. */
export interface Twins {
  rule: 'null' | 'default' | 'key-order' | 'unknown-key'
  name: string
  one: CallOptions
  other: CallOptions
  pointer: string
}

/** What a schema cannot say about a property: rules between fields, and what is up to a deployment. */
export interface FieldRule {
  /** What a body needs besides, for the property to be acceptable. */
  beside?: Record<string, unknown>
  /** No value but those of the good request is sure to be accepted. */
  isUncertain?: boolean
}

/** By the place in the body, steps joined with dots, numbers of lists written `*`; or by the name of a parameter. */
export type FieldRules = Readonly<Record<string, FieldRule>>

export interface DeriveSettings {
  rules?: FieldRules
  /** Whether an accepted request changes nothing that is kept, so that many of them may be sent. */
  mayAccept: boolean
  /** Most cases. Default: MOST_CASES, or CASES_PER_PROPERTY for each property of the body where that is more. */
  most?: number
}
