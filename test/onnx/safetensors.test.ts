import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import {
  readFloats,
  readIntegers,
  readSafetensorsHeader,
  type StoredTensor,
  type TensorToStore,
  writeSafetensors,
} from '../../src/onnx/safetensors.ts'

const folder = mkdtempSync(join(tmpdir(), 'trainyard-'))
const path = join(folder, 'a.safetensors')
afterAll(() => rmSync(folder, { recursive: true }))

function writeAndRead(tensors: Record<string, TensorToStore>): (name: string) => StoredTensor {
  writeSafetensors(path, new Map(Object.entries(tensors)), { format: 'pt' })
  const header = readSafetensorsHeader(path)
  expect(header.metadata).toEqual({ format: 'pt' })
  return name => header.tensors.get(name)!
}

/** A file whose header says this, before 16 bytes of data. */
function writeRaw(header: string, headerBytes = header.length): void {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(headerBytes))
  writeFileSync(path, Buffer.concat([length, Buffer.from(header), Buffer.alloc(16)]))
}

describe('what was written is read', () => {
  test('floats and integers of every kind', () => {
    const stored = writeAndRead({
      floats: { shape: [2, 2], data: Float32Array.of(1.5, -2, Number.NaN, 1e30) },
      integers: { shape: [3], data: Int32Array.of(1, -2, 2 ** 31 - 1) },
      large: { shape: [1], data: BigInt64Array.of(-(2n ** 40n)) },
      none: { shape: [0], data: new Float32Array() },
    })
    expect(readFloats(path, stored('floats'))).toEqual(Float32Array.of(1.5, -2, Number.NaN, 1e30))
    expect(readIntegers(path, stored('integers'))).toEqual(Int32Array.of(1, -2, 2 ** 31 - 1))
    expect(readIntegers(path, stored('large'))).toEqual(BigInt64Array.of(-(2n ** 40n)))
    expect(readFloats(path, stored('none'))).toHaveLength(0)
    expect(stored('floats').shape).toEqual([2, 2])
  })

  test('BF16 rounds to the nearest, ties to even', () => {
    // 1 + 2^-8 lies between 1 and 1 + 2^-7 (even: 1), 1 + 3·2^-8 between 1 + 2^-7 and 1 + 2^-6 (even: the latter)
    const data = Float32Array.of(1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -16, -3.5)
    const stored = writeAndRead({ half: { shape: [5], data, rounding: 'BF16' } })
    expect(stored('half')).toMatchObject({ dtype: 'BF16', length: 10 })
    expect([...readFloats(path, stored('half'))]).toEqual([1, 1, 1 + 2 ** -6, 1 + 2 ** -7, -3.5])
  })

  test('F16, which other tools write: normal, subnormal and special numbers', () => {
    writeRaw('{"h":{"dtype":"F16","shape":[8],"data_offsets":[0,16]}}')
    const bytes = readFileSync(path)
    const halves = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x7c00, 0xfc00, 0x8000]
    for (const [index, half] of halves.entries()) bytes.writeUInt16LE(half, bytes.length - 16 + 2 * index)
    writeFileSync(path, bytes)
    const floats = readFloats(path, readSafetensorsHeader(path).tensors.get('h')!)
    expect([...floats]).toEqual([1, -2, 65504, 2 ** -24, 1023 * 2 ** -24, Infinity, -Infinity, -0])
  })
})

describe('a broken file is refused with file, tensor and rule', () => {
  test.each([
    ['{"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}}', /a\.safetensors: tensor a has type F8/],
    ['{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', /tensor a: shape is not a list of sizes/],
    ['{"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}}', /tensor a: data_offsets is not a pair/],
    ['{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}', /tensor a has 4 bytes; F32 \[2\] needs 8/],
    ['{"a":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}', /tensor a ends at byte/],
    ['{"a":null}', /tensor a has type undefined/],
    ['not JSON', /a\.safetensors: the header is not JSON/],
  ])('%s', (header, message) => {
    writeRaw(header)
    expect(() => readSafetensorsHeader(path)).toThrow(message)
  })

  test('a header longer than the file', () => {
    writeRaw('{}', 1_000_000)
    expect(() => readSafetensorsHeader(path)).toThrow(/the header says it has 1000000 bytes, the file has 26/)
  })

  test('a file that ends within its length', () => {
    writeFileSync(path, 'abc')
    expect(() => readSafetensorsHeader(path)).toThrow(/a\.safetensors: the file ends at byte 3/)
  })

  test('floats where integers are needed, and the other way round', () => {
    const stored = writeAndRead({
      a: { shape: [1], data: Float32Array.of(1) },
      b: { shape: [1], data: Int32Array.of(1) },
    })
    expect(() => readIntegers(path, stored('a'))).toThrow(/type F32 stands where integers are needed/)
    expect(() => readFloats(path, stored('b'))).toThrow(/type I32 stands where floats are needed/)
  })
})
