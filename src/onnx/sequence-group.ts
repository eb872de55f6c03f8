/** What a lane generates: sequences that are decided on together, one for a plain choice, several for beam search. */

/** A sequence of the next step: it carries on the one at place `parent` of this step with this token. */
export interface NextToken {
  parent: number
  token: number
}

export interface SequenceGroup {
  /** Most sequences it ever has. */
  readonly reservedSlots: number
  /**
   * Takes the logits [vocabulary] after each of its sequences, at first after the prompt alone, and gives the sequences
   * to go on with: none when it has finished.
   */
  advance(logits: readonly Float32Array[]): NextToken[]
}
