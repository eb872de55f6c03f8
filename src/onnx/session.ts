/**
 * Opens graphs in onnxruntime. Only worker threads import this: loading the library and running graphs block their
 * thread.
 */
import { InferenceSession, Tensor, type TypedTensor } from 'onnxruntime-node'
import type { Graph } from './graph.ts'

export interface SessionSettings {
  /** Threads that compute one operation. */
  threads: number
  /**
   * Whether idle threads wait actively for work. Faster on an otherwise idle machine, ruinous on a busy one
   * (measured: training up to ten times slower), so it is off unless asked for.
   */
  spinning: boolean
}

const LOG_ERRORS_ONLY = 3

/** `weightsFolder` is where the files of external constants lie; nothing is written into it. */
export async function createSession(
  graph: Graph,
  settings: SessionSettings,
  weightsFolder: string | null,
): Promise<InferenceSession> {
  return await InferenceSession.create(graph.toBytes(), {
    intraOpNumThreads: settings.threads,
    interOpNumThreads: 1,
    logSeverityLevel: LOG_ERRORS_ONLY,
    extra: {
      session: {
        set_denormal_as_zero: '1',
        intra_op: { allow_spinning: settings.spinning ? '1' : '0' },
        ...(weightsFolder === null ? {} : { model_external_initializers_file_folder_path: weightsFolder }),
      },
    },
  })
}

/** The arrays are wrapped, not copied. */
export function toTensor(data: Float32Array | Int32Array | BigInt64Array, shape: readonly number[]): Tensor {
  if (data instanceof Float32Array) return new Tensor('float32', data, shape)
  if (data instanceof Int32Array) return new Tensor('int32', data, shape)
  return new Tensor('int64', data, shape)
}

/** The entries of a float output. Throws an Error where the graph gave none. */
export function floatsOf(outputs: Record<string, Tensor | undefined>, name: string): Float32Array {
  const output = outputs[name] as TypedTensor<'float32'> | undefined
  if (!output) throw new Error(`The graph gave no output ${name}`)
  return output.data
}
