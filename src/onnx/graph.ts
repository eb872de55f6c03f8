/**
 * Traced tensors: calling an operation (tensor-operations.ts, model-operations.ts) writes an ONNX node and gives back a
 * Value that remembers how to carry a gradient to its parents. `gradients` then writes the backward pass into the same
 * graph.
 */
import type { StoredTensor } from './safetensors.ts'
import {
  type Attribute,
  type DataType,
  type Dimension,
  externalTensorField,
  modelBytes,
  nodeField,
  type TensorData,
  tensorField,
  type ValueInfo,
} from './writer.ts'

/** Gradient of the loss for each parent, in order; null where a parent needs none. */
export type Backward = (gradient: Value) => (Value | null)[]

export interface Value extends ValueInfo {
  graph: Graph
  /** Whether a gradient has to flow through here: true for inputs that train and for everything computed from them. */
  needsGradient: boolean
  parents: readonly (Value | null)[]
  backward: Backward | null
  /** Names of the second and further outputs of the node. */
  extraOutputs: readonly string[]
}

export interface OperationOptions {
  attributes?: Readonly<Record<string, Attribute>>
  domain?: string
  dtype?: DataType
  /** Number of outputs of the node beyond the first. */
  extraOutputs?: number
  backward?: Backward
}

/** Constants of at most this many entries are written once and shared. */
const SHARED_CONSTANT_ENTRIES = 64

export class Graph {
  readonly inputs: ValueInfo[] = []
  readonly outputs: ValueInfo[] = []
  readonly #nodes: Buffer[] = []
  readonly #constants: Buffer[] = []
  readonly #shared = new Map<string, Value>()
  #names = 0

  value(name: string, shape: readonly Dimension[], dtype: DataType = 'float32', needsGradient = false): Value {
    return { graph: this, name, shape, dtype, needsGradient, parents: [], backward: null, extraOutputs: [] }
  }

  input(name: string, shape: readonly Dimension[], dtype: DataType = 'float32', needsGradient = false): Value {
    const value = this.value(name, shape, dtype, needsGradient)
    this.inputs.push({ name, shape, dtype })
    return value
  }

  output(value: Value, name: string, shape: readonly Dimension[] = value.shape): void {
    this.#nodes.push(nodeField('Identity', [value.name], [name], {}, ''))
    this.outputs.push({ name, shape, dtype: value.dtype })
  }

  constant(data: TensorData, shape: readonly number[]): Value {
    const dtype = data instanceof Float32Array ? 'float32' : data instanceof Int32Array ? 'int32' : 'int64'
    const key = data.length <= SHARED_CONSTANT_ENTRIES ? `${dtype}:${shape}:${data}` : null
    const known = key === null ? undefined : this.#shared.get(key)
    if (known) return known
    const value = this.value(this.#newName('constant'), shape, dtype)
    this.#constants.push(tensorField(value.name, dtype, shape, data))
    if (key !== null) this.#shared.set(key, value)
    return value
  }

  scalar(number: number): Value {
    return this.constant(Float32Array.of(number), [])
  }

  integers(list: readonly number[]): Value {
    return this.constant(BigInt64Array.from(list, BigInt), [list.length])
  }

  /** A constant that stays in the file it is stored in. */
  external(name: string, stored: StoredTensor, dtype: DataType): Value {
    const { file, offset, length } = stored
    this.#constants.push(externalTensorField(name, dtype, stored.shape, { location: file, offset, length }))
    return this.value(name, stored.shape, dtype)
  }

  operation(
    operator: string,
    parents: readonly (Value | null)[],
    shape: readonly Dimension[],
    options: OperationOptions = {},
  ): Value {
    const { attributes = {}, domain = '', dtype = 'float32', extraOutputs: extra = 0, backward = null } = options
    const name = this.#newName('value')
    const extraOutputs = Array.from({ length: extra }, (_, index) => `${name}_${index + 1}`)
    const inputNames = parents.map(parent => parent?.name ?? '')
    this.#nodes.push(nodeField(operator, inputNames, [name, ...extraOutputs], attributes, domain))
    const needsGradient = backward !== null && parents.some(parent => parent?.needsGradient)
    return { graph: this, name, shape, dtype, needsGradient, parents, backward, extraOutputs }
  }

  toBytes(): Uint8Array {
    return modelBytes(this.#nodes, this.#constants, this.inputs, this.outputs)
  }

  #newName(kind: string): string {
    return `${kind}${this.#names++}`
  }
}

/**
 * Reverse-mode differentiation: writes the gradient of the scalar `loss` for each of `wanted` into the graph.
 * `sum` adds two gradients that meet (given in, because operations build on this file).
 */
export function gradients(loss: Value, wanted: readonly Value[], sum: (a: Value, b: Value) => Value): Value[] {
  const order: Value[] = []
  const seen = new Set<Value>()
  const visit = (value: Value | null) => {
    if (!value?.needsGradient || seen.has(value)) return
    seen.add(value)
    value.parents.forEach(visit)
    order.push(value)
  }
  visit(loss)
  const found = new Map<Value, Value>([[loss, loss.graph.constant(Float32Array.of(1), [])]])
  for (const value of order.reverse()) {
    const gradient = found.get(value)
    if (!gradient || !value.backward) continue
    value.backward(gradient).forEach((part, index) => {
      const parent = value.parents[index]
      if (!part || !parent?.needsGradient) return
      const other = found.get(parent)
      found.set(parent, other ? sum(other, part) : part)
    })
  }
  return wanted.map(value => {
    const gradient = found.get(value)
    if (!gradient) throw new Error(`The loss does not depend on ${value.name}`)
    return gradient
  })
}
