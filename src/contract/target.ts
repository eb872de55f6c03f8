/** The deployment that the contract tests run against. */
export interface Target {
  /** Without a slash at the end; may hold a path. */
  baseUrl: string
  /** Ends in /v1. */
  inferenceUrl: string
  apiKey: string
  /** A key of another team, for what must not be seen across teams; null: those checks are skipped. */
  secondApiKey: string | null
  /** `user:password` of the operations with basic authentication. */
  basic: string
  /** Name of a base model to train and to chat with. */
  baseModel: string
  /** A mock answers every request alone and keeps nothing: only what that can hold is checked. */
  isMock: boolean
  /** Longest time that one training job may take, in milliseconds. */
  jobTimeoutMs: number
}
