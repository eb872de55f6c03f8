/** One question and its answer. `exact` questions are not varied in case or punctuation, since the answer depends on them. */
export interface Turn {
  /** The kind of question, for reports and tests. */
  task: string
  user: string
  assistant: string
  exact?: boolean
}
