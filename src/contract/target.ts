/** interface: only what the interface itself says is judged. full: everything that the contract says. */
export type Profile = 'interface' | 'full'

/** The deployment that the contract tests run against, and how it is to be judged. */
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
  profile: Profile
  /** `team/project` to work in; null: a project named like the run, of the team of the key. */
  project: { entity: string; project: string } | null
  /** Only what reads is sent. */
  isReadOnly: boolean
  /** What is there already, for runs that may make nothing. */
  given: Given
  /** Jobs may be run, which cost. */
  mayTrain: boolean
  /** Checks may wait until a deployment tries again. */
  mayRetry: boolean
  /** How a deployment reaches this machine to deliver webhooks; null: it does not. */
  receiver: Receiver | null
}

export interface Given {
  modelId: string | null
  trainingJobId: string | null
  /** `<scheme>:///<entity>/<project>/<name>:<version>`. */
  artifact: string | null
}

export interface Receiver {
  /** Where deliveries are to be sent; null: to the port on this machine's loopback address. */
  publicUrl: string | null
  /** Port to listen on; 0: any free one. */
  port: number
}

export const NOTHING_GIVEN: Given = { modelId: null, trainingJobId: null, artifact: null }

/** An address as it may be shown and kept. */
export function withoutCredentials(address: string): string {
  const url = new URL(address)
  url.username = ''
  url.password = ''
  return url.href.replace(/\/+$/, '')
}
