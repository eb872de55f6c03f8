/** A rule for the text that cannot be followed: the request is at fault, and `path` tells where in the rule. */
export class ConstraintError extends Error {
  override name = 'ConstraintError' as const
  /** Path into the rule's source, for example ['properties', 'age', 'multipleOf']; empty for the rule as a whole. */
  path: string[]
  constructor(path: readonly string[], message: string) {
    super(message)
    this.path = [...path]
  }
}
