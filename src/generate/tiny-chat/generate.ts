/** Trains tiny-chat from scratch and writes generated/tiny-chat: a few minutes on two cores. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { writeModelWeights } from '../../onnx/full-weights.ts'
import { WEIGHTS_FILE } from '../../onnx/weights.ts'
import { createEncoder } from './byte-pairs.ts'
import { TINY_CHAT_FOLDER } from './check.ts'
import { countTokens, runPretraining } from './pretrain.ts'
import { createProgress } from './progress.ts'
import { TRAINING } from './settings.ts'
import { createModelSources, DIGEST_FILE } from './sources.ts'

/** Writes the whole folder, the digest last. Training draws its progress in the terminal. */
export async function runGenerateModel(folder = TINY_CHAT_FOLDER): Promise<void> {
  const { pairs, files, digest } = createModelSources()
  const progress = createProgress(TRAINING.steps, countTokens())
  const weights = await runPretraining(JSON.parse(files['config.json']!), createEncoder(pairs), progress)
  writeFiles(folder, files)
  writeModelWeights(join(folder, WEIGHTS_FILE), weights, 'BF16')
  writeFiles(folder, { [DIGEST_FILE]: `${JSON.stringify(digest, null, 2)}\n` })
}

function writeFiles(folder: string, files: Record<string, string>): void {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

if (import.meta.main) {
  // strict: a mistyped flag must not start minutes of training
  const { values } = parseArgs({ options: { files: { type: 'boolean', default: false } } })
  if (values.files) writeFiles(TINY_CHAT_FOLDER, createModelSources().files)
  else await runGenerateModel()
  console.log(`wrote ${TINY_CHAT_FOLDER}`)
}
