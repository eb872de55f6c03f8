import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { LineProcess } from './line-process.ts'
import { type Bench, LeftOut, type Trial } from './trial.ts'

const SECONDS = '2'
/** Of each row: those of the prompt, about as many as our question has, and those generated. */
const PROMPT = 40
const TOKENS = 128
/** A model this small is fastest with one, and PyTorch is ten times slower with two where the cores are shared. */
const THREADS = 1
const tinyChat = join(import.meta.dirname, '..', '..', 'generated', 'tiny-chat')

/** Tokens generated in a second, greedily, by one thread on each side, the prompt's time included. */
export const generation: Bench = {
  name: 'generation',
  trials: [() => openTrial(1, 2), () => openTrial(8, 1.2)],
}

async function openTrial(rows: number, atLeast: number): Promise<Trial> {
  const python = await findPython()
  const task = [THREADS, rows, TOKENS].map(String)
  const processes = await Promise.all([
    LineProcess.start(process.execPath, [join(import.meta.dirname, 'onnx-generation.ts'), ...task]),
    LineProcess.start(python, [join(import.meta.dirname, 'torch_generation.py'), tinyChat, ...task, String(PROMPT)]),
  ])
  const [ours, torch] = processes
  return {
    contestants: {
      ours: async () => Number(await ours.ask(SECONDS)),
      PyTorch: async () => Number(await torch.ask(SECONDS)),
    },
    comparisons: [
      { what: `generation, batch ${rows}`, unit: 'tokens/s', ours: 'ours', peer: 'PyTorch', target: { atLeast } },
    ],
    close: async () => {
      await Promise.all(processes.map(one => one.stop()))
    },
  }
}

async function findPython(): Promise<string> {
  const python = process.env['TRAINYARD_PYTHON'] ?? 'python3'
  await promisify(execFile)(python, ['-c', 'import torch, transformers']).catch(error => {
    const reason = String(error.stderr ?? error.message)
      .trim()
      .split('\n')
      .at(-1)
    throw new LeftOut(`it needs Python with torch and transformers (set TRAINYARD_PYTHON); ${python}: ${reason}`)
  })
  return python
}
