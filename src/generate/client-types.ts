/** Types that turn an entry of `operations` (schema.d.ts) into the input and the output of a client function. */

type Part<Value> = [NonNullable<Value>] extends [never] ? unknown : NonNullable<Value>
type ParametersOf<Operation, Place extends string> = Operation extends { parameters: { [Key in Place]?: infer Value } }
  ? Part<Value>
  : unknown
type JsonBodyOf<Operation> = Operation extends { requestBody: { content: { 'application/json': infer Body } } }
  ? FieldsOf<Body>
  : Operation extends { requestBody?: { content: { 'application/json': infer Body } } }
    ? Partial<FieldsOf<Body>>
    : unknown
type FieldsOf<Body> = Body extends readonly unknown[] | string | number | boolean | null ? { body: Body } : Body
type FormOf<Operation> = Operation extends { requestBody: { content: { 'multipart/form-data': infer Form } } }
  ? Form
  : unknown

/**
 * Path parameters, query parameters and the fields of the JSON body, side by side in one object. A body that is no
 * object is the field `body`.
 */
export type InputOf<Operation> = object &
  ParametersOf<Operation, 'path'> &
  ParametersOf<Operation, 'query'> &
  JsonBodyOf<Operation>

/** As `InputOf`, for a multipart body whose parts named by `FileField` are files. */
export type FormInputOf<Operation, FileField extends string> = ParametersOf<Operation, 'path'> &
  ParametersOf<Operation, 'query'> &
  Omit<FormOf<Operation>, FileField> & { [Field in FileField]: UploadFile[] }

/** The JSON body of a 200, or undefined when the operation has none. */
export type OutputOf<Operation> = Operation extends {
  responses: { 200: { content: { 'application/json': infer Body } } }
}
  ? Body
  : undefined

/** What a stream gives: the events described by a schema, without those that are thrown as errors. */
export type StreamedOf<Event> = Exclude<Event, { error: unknown }>

/** An item of a list operation's `data`. */
export type ItemOf<Operation> = OutputOf<Operation> extends { data: (infer Item)[] } ? Item : never

/** A file to upload; `name` may hold folders, such as `adapter/config.json`. */
export type UploadFile = { name: string; data: Blob | Uint8Array<ArrayBuffer> | string }

/** What every function takes besides its input. */
export type RequestOptions<Operation = unknown> = {
  /** Ends the request, or the iteration, when it is aborted. */
  signal?: AbortSignal
  /** Headers of this request alone; those that the operation declares are named. */
  headers?: HeadersOf<Operation>
}
type HeadersOf<Operation> = ParametersOf<Operation, 'header'> & Record<string, string | undefined>
