/**
 * Reads and writes the safetensors format: 8 bytes with the header's length, the header as JSON, the tensors' bytes.
 * @see https://github.com/huggingface/safetensors#format
 */
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { basename } from 'node:path'

const bytesPerEntry = { F32: 4, F16: 2, BF16: 2, I32: 4, I64: 8 } as const
export type StoredType = keyof typeof bytesPerEntry

/** Where a tensor's bytes stand. */
export interface StoredTensor {
  dtype: StoredType
  shape: number[]
  /** Name of the file within its folder. */
  file: string
  /** Bytes from the start of the file. */
  offset: number
  /** Bytes. */
  length: number
}

export interface SafetensorsHeader {
  tensors: Map<string, StoredTensor>
  metadata: Record<string, string>
}

export type TensorEntries = Float32Array | Int32Array | BigInt64Array

/** What writeSafetensors stores: F32, I32 or I64 by the array's kind, or 32-bit floats rounded to BF16. */
export interface TensorToStore {
  shape: readonly number[]
  data: TensorEntries
  rounding?: 'BF16'
}

/** The file breaks a rule of the format; the message names the file, the tensor and the rule. */
export class SafetensorsError extends Error {
  override name = 'SafetensorsError' as const
}

const LENGTH_BYTES = 8
/** The format's own limit. */
const MAX_HEADER_BYTES = 100_000_000
const ALIGNMENT_BYTES = 8

/** Reads the header only. Throws SafetensorsError. */
export function readSafetensorsHeader(path: string): SafetensorsHeader {
  const descriptor = openSync(path, 'r')
  try {
    const fileBytes = fstatSync(descriptor).size
    const lengthBytes = readSpan(descriptor, path, 0, LENGTH_BYTES)
    const headerBytes = Number(lengthBytes.readBigUInt64LE())
    const dataStart = LENGTH_BYTES + headerBytes
    if (headerBytes > MAX_HEADER_BYTES || dataStart > fileBytes) {
      throw new SafetensorsError(`${path}: the header says it has ${headerBytes} bytes, the file has ${fileBytes}`)
    }
    const text = readSpan(descriptor, path, LENGTH_BYTES, headerBytes).toString()
    return parseHeader(path, text, dataStart, fileBytes)
  } finally {
    closeSync(descriptor)
  }
}

function parseHeader(path: string, text: string, dataStart: number, fileBytes: number): SafetensorsHeader {
  let entries: Record<string, unknown>
  try {
    entries = JSON.parse(text)
  } catch {
    throw new SafetensorsError(`${path}: the header is not JSON`)
  }
  const { __metadata__: metadata = {}, ...rest } = entries
  const tensors = new Map<string, StoredTensor>()
  for (const [name, entry] of Object.entries(rest)) {
    tensors.set(name, parseEntry(`${path}: tensor ${name}`, entry, basename(path), dataStart, fileBytes))
  }
  return { tensors, metadata: metadata as Record<string, string> }
}

function parseEntry(place: string, entry: unknown, file: string, dataStart: number, fileBytes: number): StoredTensor {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>
  if (typeof dtype !== 'string' || !(dtype in bytesPerEntry)) {
    throw new SafetensorsError(`${place} has type ${dtype}; known are ${Object.keys(bytesPerEntry).join(', ')}`)
  }
  if (!isSizeList(shape)) throw new SafetensorsError(`${place}: shape is not a list of sizes`)
  if (!isSizeList(offsets) || offsets.length !== 2) {
    throw new SafetensorsError(`${place}: data_offsets is not a pair of byte offsets`)
  }
  const [start, end] = offsets as [number, number]
  const length = countEntries(shape) * bytesPerEntry[dtype as StoredType]
  if (end - start !== length) {
    throw new SafetensorsError(`${place} has ${end - start} bytes; ${dtype} [${shape}] needs ${length}`)
  }
  if (dataStart + end > fileBytes) {
    throw new SafetensorsError(`${place} ends at byte ${dataStart + end}; the file has ${fileBytes}`)
  }
  return { dtype: dtype as StoredType, shape, file, offset: dataStart + start, length }
}

function isSizeList(list: unknown): list is number[] {
  return Array.isArray(list) && list.every(size => Number.isSafeInteger(size) && size >= 0)
}

const countEntries = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1)

function readSpan(descriptor: number, path: string, offset: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let done = 0
  while (done < length) {
    const count = readSync(descriptor, bytes, done, length - done, offset + done)
    if (count === 0)
      throw new SafetensorsError(`${path}: the file ends at byte ${offset + done}, within a tensor or header`)
    done += count
  }
  return bytes
}

/** The tensor as 32-bit floats, whatever float type it is stored as. Throws SafetensorsError on integer tensors. */
export function readFloats(path: string, stored: StoredTensor): Float32Array {
  const bytes = readTensorBytes(path, stored)
  if (stored.dtype === 'F32') return new Float32Array(bytes.buffer, bytes.byteOffset, stored.length / 4)
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, stored.length / 2)
  if (stored.dtype === 'BF16') return fromBfloat16(halves)
  if (stored.dtype === 'F16') return Float32Array.from(halves, fromFloat16)
  throw new SafetensorsError(`${path}: a tensor of type ${stored.dtype} stands where floats are needed`)
}

/** The tensor as integers. Throws SafetensorsError on float tensors. */
export function readIntegers(path: string, stored: StoredTensor): Int32Array | BigInt64Array {
  const bytes = readTensorBytes(path, stored)
  if (stored.dtype === 'I32') return new Int32Array(bytes.buffer, bytes.byteOffset, stored.length / 4)
  if (stored.dtype === 'I64') return new BigInt64Array(bytes.buffer, bytes.byteOffset, stored.length / 8)
  throw new SafetensorsError(`${path}: a tensor of type ${stored.dtype} stands where integers are needed`)
}

function readTensorBytes(path: string, stored: StoredTensor): Uint8Array {
  const descriptor = openSync(path, 'r')
  try {
    // a copy with a buffer of its own, so that typed arrays over it are aligned
    return new Uint8Array(readSpan(descriptor, path, stored.offset, stored.length))
  } finally {
    closeSync(descriptor)
  }
}

/** Writes the tensors in the order given. */
export function writeSafetensors(
  path: string,
  tensors: ReadonlyMap<string, TensorToStore>,
  metadata: Record<string, string> = {},
): void {
  const header: Record<string, unknown> = { __metadata__: metadata }
  const parts: Uint8Array[] = []
  let offset = 0
  for (const [name, tensor] of tensors) {
    const { dtype, bytes } = toStoredBytes(tensor)
    header[name] = { dtype, shape: tensor.shape, data_offsets: [offset, offset + bytes.length] }
    offset += bytes.length
    parts.push(bytes)
  }
  const text = JSON.stringify(header)
  const padding = (ALIGNMENT_BYTES - (Buffer.byteLength(text) % ALIGNMENT_BYTES)) % ALIGNMENT_BYTES
  const headerBytes = Buffer.from(text + ' '.repeat(padding))
  const lengthBytes = Buffer.alloc(LENGTH_BYTES)
  lengthBytes.writeBigUInt64LE(BigInt(headerBytes.length))
  const descriptor = openSync(path, 'w')
  try {
    for (const part of [lengthBytes, headerBytes, ...parts]) writeAll(descriptor, part)
  } finally {
    closeSync(descriptor)
  }
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) done += writeSync(descriptor, bytes, done)
}

function toStoredBytes({ data, rounding }: TensorToStore): { dtype: StoredType; bytes: Uint8Array } {
  const asBytes = (array: TensorEntries | Uint16Array) =>
    new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
  if (data instanceof Int32Array) return { dtype: 'I32', bytes: asBytes(data) }
  if (data instanceof BigInt64Array) return { dtype: 'I64', bytes: asBytes(data) }
  if (rounding === 'BF16') return { dtype: 'BF16', bytes: asBytes(toBfloat16(data)) }
  return { dtype: 'F32', bytes: asBytes(data) }
}

/** The upper half of a 32-bit float is a BF16. */
function fromBfloat16(halves: Uint16Array): Float32Array {
  const words = new Uint32Array(halves.length)
  for (let index = 0; index < halves.length; index++) words[index] = halves[index] << 16
  return new Float32Array(words.buffer)
}

/** Rounds to the nearest BF16, ties to even. */
export function toBfloat16(floats: Float32Array): Uint16Array {
  const words = new Uint32Array(floats.buffer, floats.byteOffset, floats.length)
  const halves = new Uint16Array(floats.length)
  for (let index = 0; index < words.length; index++) {
    const word = words[index]
    halves[index] = (word + 0x7fff + ((word >>> 16) & 1)) >>> 16
  }
  return halves
}

/** IEEE 754 half precision: 1 sign bit, 5 exponent bits, 10 fraction bits. */
function fromFloat16(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  if (exponent === 0) return sign * fraction * 2 ** -24
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
