import type { Readable } from 'node:stream'
import type { operations } from '../../generated/schema.d.ts'
import type { Context } from '../context.ts'
import type { TrajectorySummary } from '../training/trajectory-summary.ts'

/** Every operation of the contract that a client calls; deliveries go the other way. */
export type OperationId = Exclude<keyof operations, 'automationDelivery'>

type Parameters<
  Id extends OperationId,
  Place extends 'path' | 'query' | 'header',
> = operations[Id]['parameters'] extends {
  [P in Place]?: infer Values
}
  ? NonNullable<Values>
  : Record<string, never>

type JsonBody<Id extends OperationId> =
  NonNullable<operations[Id]['requestBody']> extends { content: infer Content }
    ? Content extends { 'application/json': infer Body }
      ? Body
      : Content extends { 'multipart/form-data': infer Body }
        ? Body
        : never
    : undefined

/** A validated request. `raw` holds what a body over the spool limit, or one that is kept as sent, looks like on disk. */
export interface Input<Id extends OperationId> {
  path: Parameters<Id, 'path'>
  query: Parameters<Id, 'query'>
  headers: Parameters<Id, 'header'> & Record<string, string | undefined>
  body: undefined extends operations[Id]['requestBody'] ? JsonBody<Id> | undefined : JsonBody<Id>
  raw: RawBody
}

/** A body as it came: small ones as text, large ones as a spool file, which is removed when the request ends. */
export interface RawBody {
  text: string | null
  file: string | null
  /** Of a spooled body with trajectories, whose `trajectory_groups` stay in the file. */
  summary: TrajectorySummary | null
  /** What logTrajectories keeps of a spooled body: a trajectory file, with its size in bytes. */
  trajectories: { file: string; size: number } | null
  /** Hex digest of the bytes; of small bodies it is computed only when asked for. */
  sha256(): string
  /** The parts of a multipart body, in the order in which they come. */
  form(): AsyncIterable<FormPart>
}

export interface FormPart {
  name: string
  /** Null: a field rather than a file. */
  fileName: string | null
  content: AsyncIterable<Uint8Array>
}

type Responses<Id extends OperationId> = operations[Id]['responses']

type JsonOf<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : never

type Headers = Record<string, string>

/** A declared status with its declared JSON body; a stream of events or bytes where the contract has one. */
type ReplyOf<Response, Status> =
  | (JsonOf<Response> extends never ? never : { status: Status; body: JsonOf<Response>; headers?: Headers })
  | (Response extends { content: { 'text/event-stream': unknown } }
      ? { status: Status; events: AsyncIterable<unknown>; headers?: Headers }
      : never)
  | (Response extends { content: { 'application/octet-stream': unknown } }
      ? { status: Status; bytes: Readable; headers?: Headers }
      : never)

export type Reply<Id extends OperationId> = {
  [Status in keyof Responses<Id>]: ReplyOf<Responses<Id>[Status], Status>
}[keyof Responses<Id>]

/** What implements an operation. It answers what the contract declares, or throws an ApiError. */
export type Handler<Id extends OperationId> = (input: Input<Id>, context: Context) => Promise<Reply<Id>>

/** All of them: a missing operation does not compile. */
export type Handlers = { [Id in OperationId]: Handler<Id> }
