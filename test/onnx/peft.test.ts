import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createAdapter, writeAdapter } from '../../src/onnx/adapter.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { sftOptimizer } from '../../src/onnx/optimizer.ts'
import { openLoraProgram } from '../../src/onnx/train-program.ts'
import { createTrainer } from '../../src/onnx/trainer.ts'
import { fixtureModels, fixtures, quiet } from './golden.ts'
import { rowOf } from './rows.ts'

/** The golden fixtures hold PEFT's numbers for every run; this is the other way round and needs PEFT itself. */
const python = process.env['PYTHON'] ?? 'python3'
const hasPeft = spawnSync(python, ['-c', 'import torch, transformers, peft']).status === 0
/** Milliseconds: importing torch, transformers and peft alone takes many seconds. */
const PEFT_LIMIT_MS = 120_000
const folder = mkdtempSync(join(tmpdir(), 'trainyard-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe.skipIf(!hasPeft)(
  `a trained adapter in PEFT (skipped where ${python} has no torch, transformers and peft)`,
  () => {
    test.each(fixtureModels)(
      'gives the log-probabilities that training ended with: %s',
      async model => {
        const modelFolder = join(fixtures, model)
        const adapter = createAdapter(readModelConfig(modelFolder), 1)
        const program = await openLoraProgram(modelFolder, adapter, { rows: 1, length: 16 }, { type: 'sft' }, quiet)
        const trainer = createTrainer(program, adapter.factors, sftOptimizer)
        const ids = [1, 40, 50, 60, 70, 80]
        const row = rowOf([{ ids, trainFrom: 1 }], 16)
        const [before] = await trainer.logprobs([row])
        for (let step = 0; step < 5; step++) await trainer.step([row], 0.01)
        const [after] = await trainer.logprobs([row])
        await trainer.close()
        writeAdapter(folder, adapter, model)
        const script = join(import.meta.dirname, 'goldens', 'check_peft.py')
        const output = execFileSync(python, [script, modelFolder, folder, ids.join()], {
          stdio: ['ignore', 'pipe', 'ignore'],
        })
        const theirs = JSON.parse(output.toString()) as number[]
        for (const [index, logprob] of theirs.entries()) expect(Math.abs(logprob - after![index]!)).toBeLessThan(1e-4)
        expect(Math.abs(before![0]! - after![0]!)).toBeGreaterThan(0.01)
      },
      PEFT_LIMIT_MS,
    )
  },
)
