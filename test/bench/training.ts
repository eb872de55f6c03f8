import { execFile } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { writeUntrainedAdapter } from '../../src/onnx/adapter.ts'
import { createRandomParameters, writeModelWeights } from '../../src/onnx/full-weights.ts'
import { toModelConfig } from '../../src/onnx/model-config.ts'
import { WEIGHTS_FILE } from '../../src/onnx/weights.ts'
import { LineProcess } from './line-process.ts'
import { createFolder, removeFolder } from './server-process.ts'
import { type Bench, LeftOut, type Trial } from './trial.ts'

/** Of a batch: its rows, and their tokens. */
const ROWS = 8
const LENGTH = 256
const SECONDS = '3'
const SEED = 1
const THREADS = availableParallelism()
/** Spinning pays on a machine that does nothing else; without it we are to be no slower than PyTorch, whose threads do spin. */
const SPINNING_TARGET = { atLeast: 1.3 }
const QUIET_TARGET = { atLeast: 1 }
const tinyChat = join(import.meta.dirname, '..', '..', 'generated', 'tiny-chat')
/** A model of 5 million parameters. */
const LARGER = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 256,
  intermediate_size: 704,
  num_hidden_layers: 6,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  vocab_size: 2048,
  max_position_embeddings: 2048,
  rope_theta: 10_000,
  rms_norm_eps: 1e-5,
  hidden_act: 'silu',
  tie_word_embeddings: true,
}

type Kind = 'full' | 'lora'
const KIND_NAMES = { full: 'full fine-tune', lora: 'LoRA' }

/** Tokens trained in a second, the optimiser's step included, on the same model, batch and threads. */
export const training: Bench = {
  name: 'training',
  trials: [
    () => openTrial('tiny-chat', 'full'),
    () => openTrial('tiny-chat', 'lora'),
    () => openTrial('5 M parameters', 'full'),
    () => openTrial('5 M parameters', 'lora'),
  ],
}

async function openTrial(model: 'tiny-chat' | '5 M parameters', kind: Kind): Promise<Trial> {
  const python = await findPython()
  const folder = await createFolder()
  const processes: LineProcess[] = []
  const close = async () => {
    await Promise.all(processes.map(one => one.stop()))
    await removeFolder(folder)
  }
  const start = async (command: string, ...words: string[]) => {
    const started = await LineProcess.start(command, words)
    processes.push(started)
    return async () => Number(await started.ask(SECONDS))
  }
  try {
    const modelFolder = model === 'tiny-chat' ? tinyChat : await writeLargerModel(folder)
    // Apart from the model: transformers would load it with the model.
    const adapterFolder = join(folder, 'adapter')
    await mkdir(adapterFolder)
    writeUntrainedAdapter(modelFolder, adapterFolder, SEED)
    const task = [modelFolder, kind === 'full' ? kind : adapterFolder, THREADS, ROWS, LENGTH].map(String)
    const ours = [join(import.meta.dirname, 'onnx-training.ts'), ...task]
    const what = (waiting: string) => `training ${model}, ${KIND_NAMES[kind]}, ${waiting}`
    return {
      contestants: {
        spinning: await start(process.execPath, ...ours, 'spinning'),
        quiet: await start(process.execPath, ...ours, 'quiet'),
        PyTorch: await start(python, join(import.meta.dirname, 'torch_training.py'), ...task),
      },
      comparisons: [
        { what: what('spinning'), unit: 'tokens/s', ours: 'spinning', peer: 'PyTorch', target: SPINNING_TARGET },
        { what: what('not spinning'), unit: 'tokens/s', ours: 'quiet', peer: 'PyTorch', target: QUIET_TARGET },
      ],
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function findPython(): Promise<string> {
  const python = process.env['TRAINYARD_PYTHON'] ?? 'python3'
  await promisify(execFile)(python, ['-c', 'import torch, transformers, peft']).catch(error => {
    const reason = String(error.stderr ?? error.message)
      .trim()
      .split('\n')
      .at(-1)
    throw new LeftOut(`it needs Python with torch, transformers and peft (set TRAINYARD_PYTHON); ${python}: ${reason}`)
  })
  return python
}

async function writeLargerModel(folder: string): Promise<string> {
  await writeFile(join(folder, 'config.json'), JSON.stringify(LARGER))
  writeModelWeights(join(folder, WEIGHTS_FILE), createRandomParameters(toModelConfig(LARGER), SEED), 'BF16')
  await copyFile(join(tinyChat, 'tokenizer.json'), join(folder, 'tokenizer.json'))
  return folder
}
