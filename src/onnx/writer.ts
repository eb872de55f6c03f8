/**
 * Writes the part of the ONNX protobuf format that the engine uses.
 * Field numbers are those of onnx.proto, IR version 10, operator sets ai.onnx 21 and com.microsoft 1.
 */

/** onnx.TensorProto.DataType */
export const dataTypes = { float32: 1, int32: 6, int64: 7, bool: 9, float16: 10, bfloat16: 16 } as const
export type DataType = keyof typeof dataTypes

/** A dimension is a size or the name of a size that is known only when the graph runs. */
export type Dimension = number | string

export type Attribute = { int: number } | { float: number } | { ints: readonly number[] } | { text: string }
export type TensorData = Float32Array | Int32Array | BigInt64Array

export interface ValueInfo {
  name: string
  dtype: DataType
  shape: readonly Dimension[]
}

const IR_VERSION = 10
const ONNX_OPSET = 21
export const MICROSOFT_DOMAIN = 'com.microsoft'
const EXTERNAL_DATA = 1
const attributeTypes = { float: 1, int: 2, text: 3, ints: 7 } as const
const WIRE_VARINT = 0
const WIRE_BYTES = 2
const WIRE_FIXED32 = 5

function varint(value: number | bigint): Buffer {
  let rest = BigInt.asUintN(64, BigInt(value))
  const bytes: number[] = []
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128)
    rest >>= 7n
  }
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}

const key = (field: number, wireType: number) => varint(field * 8 + wireType)
const integerField = (field: number, value: number | bigint) => Buffer.concat([key(field, WIRE_VARINT), varint(value)])

function bytesField(field: number, value: string | Uint8Array): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value) : value
  return Buffer.concat([key(field, WIRE_BYTES), varint(bytes.length), bytes])
}

function floatField(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return Buffer.concat([key(field, WIRE_FIXED32), bytes])
}

const messageField = (field: number, parts: Buffer[]) => bytesField(field, Buffer.concat(parts))

function attributeField(name: string, value: Attribute): Buffer {
  const parts = [bytesField(1, name)]
  if ('float' in value) parts.push(floatField(2, value.float), integerField(20, attributeTypes.float))
  else if ('int' in value) parts.push(integerField(3, value.int), integerField(20, attributeTypes.int))
  else if ('text' in value) parts.push(bytesField(4, value.text), integerField(20, attributeTypes.text))
  else parts.push(...value.ints.map(item => integerField(8, item)), integerField(20, attributeTypes.ints))
  return messageField(5, parts)
}

export function nodeField(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>>,
  domain: string,
): Buffer {
  return messageField(1, [
    ...inputs.map(name => bytesField(1, name)),
    ...outputs.map(name => bytesField(2, name)),
    bytesField(4, operator),
    ...Object.entries(attributes).map(([name, value]) => attributeField(name, value)),
    bytesField(7, domain),
  ])
}

/** A constant whose data stands in the graph itself. */
export function tensorField(name: string, dtype: DataType, shape: readonly number[], data: TensorData): Buffer {
  return messageField(5, [
    ...shape.map(size => integerField(1, size)),
    integerField(2, dataTypes[dtype]),
    bytesField(8, name),
    bytesField(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  ])
}

/** A constant whose data is a span of bytes of a file, which the runtime maps into memory. */
export function externalTensorField(
  name: string,
  dtype: DataType,
  shape: readonly number[],
  span: { location: string; offset: number; length: number },
): Buffer {
  return messageField(5, [
    ...shape.map(size => integerField(1, size)),
    integerField(2, dataTypes[dtype]),
    bytesField(8, name),
    ...Object.entries(span).map(([entry, value]) =>
      messageField(13, [bytesField(1, entry), bytesField(2, String(value))]),
    ),
    integerField(14, EXTERNAL_DATA),
  ])
}

function valueInfoField(field: number, value: ValueInfo): Buffer {
  const dimensions = value.shape.map(size =>
    messageField(1, [typeof size === 'string' ? bytesField(2, size) : integerField(1, size)]),
  )
  const tensorType = messageField(1, [integerField(1, dataTypes[value.dtype]), messageField(2, dimensions)])
  return messageField(field, [bytesField(1, value.name), messageField(2, [tensorType])])
}

/** The bytes of a whole model; `nodes` and `constants` come from the functions above, nodes in topological order. */
export function modelBytes(
  nodes: Buffer[],
  constants: Buffer[],
  inputs: readonly ValueInfo[],
  outputs: readonly ValueInfo[],
): Uint8Array {
  return Buffer.concat([
    integerField(1, IR_VERSION),
    messageField(7, [
      ...nodes,
      bytesField(2, 'graph'),
      ...constants,
      ...inputs.map(value => valueInfoField(11, value)),
      ...outputs.map(value => valueInfoField(12, value)),
    ]),
    messageField(8, [bytesField(1, ''), integerField(2, ONNX_OPSET)]),
    messageField(8, [bytesField(1, MICROSOFT_DOMAIN), integerField(2, 1)]),
  ])
}
