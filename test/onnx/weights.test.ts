import { cpSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Decoder } from '../../src/onnx/decoder.ts'
import { createRandomParameters, writeModelWeights } from '../../src/onnx/full-weights.ts'
import { KvCache } from '../../src/onnx/kv-cache.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { sftOptimizer } from '../../src/onnx/optimizer.ts'
import { openFullProgram } from '../../src/onnx/train-program.ts'
import { createTrainer } from '../../src/onnx/trainer.ts'
import { readParameters, readWeightIndex } from '../../src/onnx/weights.ts'
import { fixtures, quiet, readGolden, relativeError } from './golden.ts'
import { rowOf } from './rows.ts'

const source = join(fixtures, 'tiny-qwen2')
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

function copyModel(): string {
  const folder = mkdtempSync(join(tmpdir(), 'trainyard-'))
  folders.push(folder)
  cpSync(source, folder, { recursive: true })
  return folder
}

async function logitsOf(folder: string): Promise<Float32Array> {
  const decoder = new Decoder(folder, 128, quiet)
  const cache = new KvCache(decoder.config)
  const prompt = [...readGolden('tiny-qwen2').integers('tokens').subarray(0, 12)]
  cache.reserve(1, prompt.length)
  return await decoder.extend(cache, 0, [{ done: 0, ids: prompt }], null)
}

const expected = readGolden('tiny-qwen2').floats('logits').subarray(0, 264)

describe('weights are read where they lie', () => {
  test('in shards that an index names', async () => {
    const folder = copyModel()
    const parameters = [...readParameters(folder)]
    const shards = [parameters.slice(0, 9), parameters.slice(9)]
    const names = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
    rmSync(join(folder, 'model.safetensors'))
    for (const [index, shard] of shards.entries()) writeModelWeights(join(folder, names[index]!), new Map(shard), 'F32')
    const entries = shards.flatMap((shard, index) => shard.map(([name]) => [name, names[index]] as const))
    const index = { weight_map: Object.fromEntries(entries) }
    writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify(index))
    expect(relativeError(await logitsOf(folder), expected)).toBeLessThan(1e-4)
  })

  test('behind links, as download caches keep them', async () => {
    const folder = copyModel()
    const blobs = mkdtempSync(join(tmpdir(), 'trainyard-'))
    folders.push(blobs)
    renameSync(join(folder, 'model.safetensors'), join(blobs, 'blob'))
    symlinkSync(join(blobs, 'blob'), join(folder, 'model.safetensors'))
    expect(relativeError(await logitsOf(folder), expected)).toBeLessThan(1e-4)
  })

  test('as BF16, with its precision', async () => {
    const folder = copyModel()
    writeModelWeights(join(folder, 'model.safetensors'), readParameters(source), 'BF16')
    const error = relativeError(await logitsOf(folder), expected)
    expect(error).toBeGreaterThan(1e-4)
    expect(error).toBeLessThan(0.1)
  })
})

describe('what is missing or does not fit is named', () => {
  test('no weights at all', () => {
    const folder = copyModel()
    rmSync(join(folder, 'model.safetensors'))
    expect(() => readWeightIndex(folder)).toThrow(/neither model\.safetensors nor model\.safetensors\.index\.json/)
  })

  test('an index that leaves its folder', () => {
    const folder = copyModel()
    rmSync(join(folder, 'model.safetensors'))
    const index = { weight_map: { 'model.norm.weight': '../model.safetensors' } }
    writeFileSync(join(folder, 'model.safetensors.index.json'), JSON.stringify(index))
    expect(() => readWeightIndex(folder)).toThrow(/not a file name within the folder/)
  })

  test('a tensor that is not there, or of another shape', async () => {
    const folder = copyModel()
    const parameters = readParameters(source)
    const norm = parameters.get('model.norm.weight')!
    parameters.set('model.norm.weight', {
      ...norm,
      shape: [norm.shape[0]! / 2],
      data: norm.data.slice(norm.data.length / 2),
    })
    writeModelWeights(join(folder, 'model.safetensors'), parameters, 'F32')
    await expect(logitsOf(folder)).rejects.toThrow(/model\.norm\.weight has shape \[16\], config\.json asks for \[32\]/)
    parameters.delete('lm_head.weight')
    parameters.set('model.norm.weight', norm)
    writeModelWeights(join(folder, 'model.safetensors'), parameters, 'F32')
    await expect(logitsOf(folder)).rejects.toThrow(/no tensor lm_head\.weight/)
  })
})

test('training all weights from random ones learns a sequence by heart', async () => {
  const config = readModelConfig(join(fixtures, 'tiny-llama'))
  const parameters = createRandomParameters(config, 5)
  const program = await openFullProgram(config, parameters, { rows: 2, length: 16 }, { type: 'sft' }, quiet)
  const trainer = createTrainer(program, parameters, sftOptimizer)
  const rows = [
    rowOf([{ ids: [3, 14, 15, 92, 65, 35], trainFrom: 1 }], 16),
    rowOf([{ ids: [2, 71, 82, 81], trainFrom: 1 }], 16),
  ]
  const { loss: first } = await trainer.step(rows, 0.01)
  // untrained: nearly every token as likely as every other
  expect(first).toBeGreaterThan(0.9 * Math.log(config.vocabularySize))
  let last = first
  for (let step = 0; step < 60; step++) last = (await trainer.step(rows, 0.01)).loss
  // the first token of each sequence's continuation can be told only from the token before it
  expect(last).toBeLessThan(0.05)
  await trainer.close()
})
