/** Elementwise operations, reductions, shape changes and matrix products on traced tensors, each with its gradient. */
import type { Value } from './graph.ts'
import { type DataType, type Dimension, dataTypes, MICROSOFT_DOMAIN } from './writer.ts'

function broadcastShape(a: readonly Dimension[], b: readonly Dimension[]): Dimension[] {
  const rank = Math.max(a.length, b.length)
  return Array.from({ length: rank }, (_, index) => {
    const left = a[a.length - rank + index] ?? 1
    const right = b[b.length - rank + index] ?? 1
    return left === 1 ? right : left
  })
}

/** Sums a gradient over the axes along which `like` was broadcast. */
export function unbroadcast(gradient: Value, like: Value): Value {
  const padding = gradient.shape.length - like.shape.length
  const axes = gradient.shape.flatMap((size, axis) =>
    axis < padding || (like.shape[axis - padding] === 1 && size !== 1) ? [axis] : [],
  )
  if (axes.length === 0) return gradient
  const reduced = sum(gradient, axes)
  return padding > 0 ? reshape(reduced, like.shape) : reduced
}

type Part = (gradient: Value) => Value

function elementwise(operator: string, a: Value, b: Value, toA: Part, toB: Part): Value {
  return a.graph.operation(operator, [a, b], broadcastShape(a.shape, b.shape), {
    backward: gradient => [
      a.needsGradient ? unbroadcast(toA(gradient), a) : null,
      b.needsGradient ? unbroadcast(toB(gradient), b) : null,
    ],
  })
}

export function add(a: Value, b: Value): Value {
  return elementwise(
    'Add',
    a,
    b,
    gradient => gradient,
    gradient => gradient,
  )
}

export function subtract(a: Value, b: Value): Value {
  return elementwise('Sub', a, b, gradient => gradient, negate)
}

export function multiply(a: Value, b: Value): Value {
  return elementwise(
    'Mul',
    a,
    b,
    gradient => multiply(gradient, b),
    gradient => multiply(gradient, a),
  )
}

/** Quotient by a constant: no gradient flows to `b`. */
export function divideByConstant(a: Value, b: Value): Value {
  return a.graph.operation('Div', [a, b], broadcastShape(a.shape, b.shape), {
    backward: gradient => [unbroadcast(divideByConstant(gradient, b), a), null],
  })
}

/** The smaller of the two; at a tie the gradient goes to `a`. */
export function minimum(a: Value, b: Value): Value {
  const shape = broadcastShape(a.shape, b.shape)
  const chosen = () => a.graph.operation('LessOrEqual', [a, b], shape, { dtype: 'bool' })
  const zero = () => a.graph.scalar(0)
  return elementwise(
    'Min',
    a,
    b,
    gradient => where(chosen(), gradient, zero()),
    gradient => where(chosen(), zero(), gradient),
  )
}

export function negate(a: Value): Value {
  return a.graph.operation('Neg', [a], a.shape, { backward: gradient => [negate(gradient)] })
}

export function exp(a: Value): Value {
  const result: Value = a.graph.operation('Exp', [a], a.shape, { backward: gradient => [multiply(gradient, result)] })
  return result
}

export function scale(a: Value, factor: number): Value {
  return multiply(a, a.graph.scalar(factor))
}

/** Values outside the bounds take the bound and pass no gradient. */
export function clip(a: Value, low: number, high: number): Value {
  const { graph } = a
  const result: Value = graph.operation('Clip', [a, graph.scalar(low), graph.scalar(high)], a.shape, {
    backward: gradient => [
      where(graph.operation('Equal', [a, result], a.shape, { dtype: 'bool' }), gradient, graph.scalar(0)),
      null,
      null,
    ],
  })
  return result
}

/** The same numbers, through which no gradient flows. */
export function stopGradient(a: Value): Value {
  return { ...a, needsGradient: false, parents: [], backward: null }
}

/** `a` where the condition holds, else `b`. */
export function where(condition: Value, a: Value, b: Value): Value {
  const zero = a.graph.scalar(0)
  const shape = broadcastShape(condition.shape, broadcastShape(a.shape, b.shape))
  return a.graph.operation('Where', [condition, a, b], shape, {
    backward: gradient => [
      null,
      a.needsGradient ? unbroadcast(where(condition, gradient, zero), a) : null,
      b.needsGradient ? unbroadcast(where(condition, zero, gradient), b) : null,
    ],
  })
}

export type Comparison = 'Equal' | 'Greater' | 'GreaterOrEqual' | 'Less' | 'LessOrEqual' | 'And'

export function compare(comparison: Comparison, a: Value, b: Value): Value {
  return a.graph.operation(comparison, [a, b], broadcastShape(a.shape, b.shape), { dtype: 'bool' })
}

export function cast(a: Value, dtype: DataType): Value {
  return a.graph.operation('Cast', [a], a.shape, { attributes: { to: { int: dataTypes[dtype] } }, dtype })
}

/** Sum over the axes, which stay with size 1. */
export function sum(a: Value, axes: readonly number[]): Value {
  const { graph } = a
  const shape = a.shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
  return graph.operation('ReduceSum', [a, graph.integers(axes)], shape, {
    attributes: { keepdims: { int: 1 } },
    backward: gradient => {
      const target = graph.operation('Shape', [a], [a.shape.length], { dtype: 'int64' })
      return [graph.operation('Expand', [gradient, target], a.shape), null]
    },
  })
}

/** At most one size may be new and unknown; further unknown sizes must stand where they stood in `a`. */
export function reshape(a: Value, shape: readonly Dimension[]): Value {
  const unknown = shape.filter(size => typeof size === 'string').length
  const sizes = shape.map((size, axis) => {
    if (typeof size === 'number') return size
    return unknown > 1 && a.shape[axis] === size ? 0 : -1
  })
  return a.graph.operation('Reshape', [a, a.graph.integers(sizes)], shape, {
    dtype: a.dtype,
    backward: gradient => [reshape(gradient, a.shape), null],
  })
}

export function transpose(a: Value, order: readonly number[]): Value {
  const shape = order.map(axis => a.shape[axis])
  const inverse = order.map((_, axis) => order.indexOf(axis))
  return a.graph.operation('Transpose', [a], shape, {
    attributes: { perm: { ints: order } },
    backward: gradient => [transpose(gradient, inverse)],
  })
}

/** Both side by side along the last axis, whose size gets this name; for inference: no gradient. */
export function concatenate(a: Value, b: Value, size: string): Value {
  return a.graph.operation('Concat', [a, b], [...a.shape.slice(0, -1), size], { attributes: { axis: { int: -1 } } })
}

/** The two parts along the last axis whose sizes the int64 value `sizes` [2] holds; for inference: no gradient. */
export function split(a: Value, sizes: Value, names: readonly [string, string]): [Value, Value] {
  const lead = a.shape.slice(0, -1)
  const first = a.graph.operation('Split', [a, sizes], [...lead, names[0]], {
    attributes: { axis: { int: -1 } },
    extraOutputs: 1,
  })
  return [first, a.graph.value(first.extraOutputs[0], [...lead, names[1]])]
}

export interface MatmulOptions {
  transposeA?: boolean
  transposeB?: boolean
  /** Factor on the product. */
  alpha?: number
}

/** alpha · a · b, batched over leading axes; `b` is either a matrix or has the same leading axes as `a`. */
export function matmul(a: Value, b: Value, options: MatmulOptions = {}): Value {
  const { transposeA = false, transposeB = false, alpha = 1 } = options
  const rows = a.shape.at(transposeA ? -1 : -2) as Dimension
  const columns = b.shape.at(transposeB ? -2 : -1) as Dimension
  const isShared = b.shape.length === 2 && a.shape.length > 2
  const flat = (value: Value) => (isShared ? reshape(value, ['rows', value.shape.at(-1) as Dimension]) : value)
  return a.graph.operation('FusedMatMul', [a, b], [...a.shape.slice(0, -2), rows, columns], {
    domain: MICROSOFT_DOMAIN,
    attributes: {
      transA: { int: transposeA ? 1 : 0 },
      transB: { int: transposeB ? 1 : 0 },
      alpha: { float: alpha },
    },
    backward: gradient => {
      if (transposeA) throw new Error('matmul: no gradient through a transposed left side')
      const left = a.needsGradient ? matmul(gradient, b, { transposeB: !transposeB, alpha }) : null
      if (!b.needsGradient) return [left, null]
      const [x, y] = transposeB ? [flat(gradient), flat(a)] : [flat(a), flat(gradient)]
      return [left, matmul(x, y, { transposeA: true, alpha })]
    },
  })
}
