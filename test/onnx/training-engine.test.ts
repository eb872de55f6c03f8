import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type Adapter, readAdapter } from '../../src/onnx/adapter.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { createOnnxTrainingEngine } from '../../src/onnx/onnx-training-engine.ts'
import { readSafetensorsHeader } from '../../src/onnx/safetensors.ts'
import { DataError, type RlConfig, type RlTask, type SftTask, type TrainProgress } from '../../src/training/engine.ts'
import { fixtures } from './golden.ts'

const baseModelFolder = join(fixtures, 'tiny-llama')
const model = readModelConfig(baseModelFolder)
const never = new AbortController().signal
const rlConfig: RlConfig = {
  learningRate: 0.01,
  ppo: false,
  epsilon: 1,
  epsilonHigh: 4,
  advantageBalance: 0,
  scaleRewards: true,
  maskProbRatio: false,
  maxNegativeAdvantageImportanceSamplingWeight: null,
  k2Tau: null,
  precalculateLogprobs: false,
  importanceSamplingLevel: 'token',
}

const engine = createOnnxTrainingEngine({ threads: 1 })
const root = mkdtempSync(join(tmpdir(), 'trainyard-'))
afterAll(async () => {
  await engine.close()
  rmSync(root, { recursive: true })
})

let folders = 0
function newFolder(): string {
  const folder = join(root, String(folders++))
  mkdirSync(folder)
  return folder
}

let adapterFolder = ''
beforeEach(async () => {
  adapterFolder = newFolder()
  await engine.createAdapter(baseModelFolder, adapterFolder, 3)
})

function sftTask(conversations: unknown[], changes: Partial<SftTask> = {}): SftTask {
  const inputFile = join(newFolder(), 'train.jsonl')
  writeFileSync(inputFile, conversations.map(line => `${JSON.stringify(line)}\n`).join(''))
  const paths = { baseModelFolder, adapterFolder, outputFolder: newFolder(), inputFile }
  return { type: 'sft', jobId: 'job', seed: 1, config: { batchSize: 2, learningRate: 0.01 }, ...paths, ...changes }
}

const conversation = (question: string, answer: string) => ({
  messages: [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ],
})

/** A group of two answers of two tokens each, the first of them the better one. */
function group(logprob = -5): unknown {
  const trajectory = (reward: number, ids: number[]) => ({
    reward,
    messages_and_choices: [
      { role: 'user', content: 'hello' },
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'x' },
        logprobs: { content: ids.map(id => ({ token: `token_id:${id}`, logprob, bytes: [], top_logprobs: [] })) },
      },
    ],
  })
  return { trajectories: [trajectory(1, [40, 2]), trajectory(0, [41, 2])] }
}

function rlTask(groups: unknown[], changes: Partial<RlTask> = {}): RlTask {
  const inputFile = join(newFolder(), 'input.json')
  writeFileSync(inputFile, JSON.stringify({ trajectory_groups: groups }))
  const paths = { baseModelFolder, adapterFolder, outputFolder: newFolder(), inputFile }
  return { type: 'rl', jobId: 'job', seed: 1, config: rlConfig, ...paths, ...changes }
}

async function run(task: RlTask | SftTask, signal = never) {
  const progress: TrainProgress[] = []
  const metrics = await engine.train(task, one => progress.push(one), signal)
  const steps = progress.filter(one => one.type === 'step').map(({ data }) => data)
  return { metrics, progress, steps, adapter: readAdapter(task.outputFolder, model) }
}

const entries = ({ factors }: Adapter) => [...factors.values()].flatMap(({ data }) => [...data])
const optimizerSteps = (folder: string) =>
  Number(readSafetensorsHeader(join(folder, 'optimizer.safetensors')).metadata['steps'])

describe('a new adapter', () => {
  test('has the layout and the numbers that PEFT gives one: A uniform, B zero', () => {
    const config = JSON.parse(readFileSync(join(adapterFolder, 'adapter_config.json'), 'utf8'))
    expect(config).toMatchObject({ peft_type: 'LORA', task_type: 'CAUSAL_LM', r: 8, lora_alpha: 16, bias: 'none' })
    expect(config.target_modules).toHaveLength(7)
    const { factors } = readAdapter(adapterFolder, model)
    expect(factors.size).toBe(2 * 7 * model.layers)
    for (const { name, data, shape } of factors.values()) {
      if (name.endsWith('lora_B.weight')) expect(data.every(entry => entry === 0)).toBe(true)
      else {
        const bound = 1 / Math.sqrt(shape[1]!)
        expect(data.every(entry => Math.abs(entry) <= bound)).toBe(true)
        // uniform within the bound has deviation bound / sqrt(3)
        const deviation = Math.sqrt(data.reduce((sum, entry) => sum + entry ** 2, 0) / data.length)
        expect(deviation / bound).toBeGreaterThan(0.5)
        expect(deviation / bound).toBeLessThan(0.65)
      }
    }
  })

  test('is drawn from its seed', async () => {
    const [same, other] = [newFolder(), newFolder()]
    await engine.createAdapter(baseModelFolder, same, 3)
    await engine.createAdapter(baseModelFolder, other, 4)
    const read = (folder: string) => entries(readAdapter(folder, model))
    expect(read(same)).toEqual(read(adapterFolder))
    expect(read(other)).not.toEqual(read(adapterFolder))
  })
})

describe('supervised fine-tuning', () => {
  const lines = [conversation('hello', 'hi'), conversation('name?', 'bob'), conversation('2?', 'two')]

  test('takes one step per batch, lowers the loss and reports numbers only', async () => {
    const repeated = Array.from({ length: 15 }, () => lines.slice(0, 2)).flat()
    const { progress, steps, metrics } = await run(sftTask(repeated))
    expect(progress[0]).toMatchObject({ type: 'started', data: { num_sequences: 15 } })
    expect(steps).toHaveLength(15)
    expect(steps.at(-1)!['loss']!).toBeLessThan(0.8 * steps[0]!['loss']!)
    for (const step of steps) {
      expect(Object.keys(step).sort()).toEqual(
        ['grad_norm', 'learning_rate', 'loss', 'num_trainable_tokens', 'num_trajectories', 'tokens_per_second'].sort(),
      )
      expect(Object.values(step).every(Number.isFinite)).toBe(true)
      expect(step['num_trajectories']).toBe(2)
    }
    expect(metrics).toMatchObject({ num_gradient_steps: 15, num_trajectories: 30 })
  })

  test('a job run again takes the same steps', async () => {
    const [one, two] = [await run(sftTask(lines)), await run(sftTask(lines))]
    expect(entries(two.adapter)).toEqual(entries(one.adapter))
  })

  test('a list of learning rates gives each step its own', async () => {
    const task = sftTask(lines, { config: { batchSize: 1, learningRate: [0.1, 0] } })
    const { steps } = await run(task)
    expect(steps.map(step => step['learning_rate'])).toEqual([0.1, 0, 0])
  })

  test('the next job goes on with the optimizer, a job of the other kind starts it anew', async () => {
    const first = sftTask(lines)
    await run(first)
    expect(optimizerSteps(first.outputFolder)).toBe(2)
    const second = sftTask(lines, { adapterFolder: first.outputFolder })
    await run(second)
    expect(optimizerSteps(second.outputFolder)).toBe(4)
    const other = rlTask([group()], { adapterFolder: second.outputFolder })
    await run(other)
    expect(optimizerSteps(other.outputFolder)).toBe(1)
  })

  test('data at fault is a DataError with its place', async () => {
    const error = await run(sftTask([...lines, { messages: [{ role: 'user', content: 'x' }] }])).catch(error => error)
    expect(error).toBeInstanceOf(DataError)
    expect(error.loc.slice(0, 2)).toEqual(['train.jsonl', '4'])
  })
})

describe('reinforcement learning', () => {
  test('steps once per row and reports numbers only', async () => {
    const { progress, steps, metrics } = await run(rlTask([group(), group()]))
    expect(progress[0]).toMatchObject({ type: 'started', data: { num_sequences: 1 } })
    expect(steps).toHaveLength(1)
    expect(Object.values(steps[0]!).every(Number.isFinite)).toBe(true)
    expect(steps[0]).toMatchObject({ reward: 0.5, learning_rate: 0.01, num_trajectories: 4, num_trainable_tokens: 8 })
    for (const name of ['policy_loss', 'entropy', 'grad_norm', 'tokens_per_second', 'reward_std_dev']) {
      expect(steps[0]).toHaveProperty(name)
    }
    expect(metrics).toMatchObject({ num_gradient_steps: 1, reward: 0.5 })
  })

  test('raises the probability of what was rewarded', async () => {
    let losses: number[] = []
    let folder = adapterFolder
    for (let job = 0; job < 4; job++) {
      const task = rlTask([group(Number.NaN)], { adapterFolder: folder })
      const { steps } = await run(task)
      losses = [...losses, steps[0]!['policy_loss']!]
      folder = task.outputFolder
    }
    // without old log-probabilities the loss is -sum(A · log p): it falls as rewarded tokens become likely
    expect(losses.at(-1)!).toBeLessThan(losses[0]!)
  })

  test('log-probabilities computed beforehand replace those that came with the data', async () => {
    const ppo = { ...rlConfig, ppo: true, epsilon: 0.2, epsilonHigh: 0.2 }
    const precalculated = { ...ppo, precalculateLogprobs: true }
    const [near, far] = [group(-5), group(-9)]
    const one = await run(rlTask([near], { config: precalculated }))
    const two = await run(rlTask([far], { config: precalculated }))
    expect(entries(two.adapter)).toEqual(entries(one.adapter))
    const sampled = await run(rlTask([far], { config: ppo }))
    expect(entries(sampled.adapter)).not.toEqual(entries(one.adapter))
  })

  test('nothing to learn leaves the adapter as it was', async () => {
    const { progress, metrics, adapter } = await run(rlTask([{ trajectories: [] }]))
    expect(progress).toMatchObject([{ type: 'started', data: { num_sequences: 0 } }])
    expect(metrics['num_gradient_steps']).toBe(0)
    expect(entries(adapter)).toEqual(entries(readAdapter(adapterFolder, model)))
  })
})

describe('the engine', () => {
  test('an abort stops the job before its next step', async () => {
    const controller = new AbortController()
    const lines = Array.from({ length: 40 }, () => conversation('hello', 'hi'))
    const task = sftTask(lines)
    let steps = 0
    const onProgress = ({ type }: TrainProgress) => {
      if (type === 'step' && ++steps === 2) controller.abort(new Error('cancelled'))
    }
    await expect(engine.train(task, onProgress, controller.signal)).rejects.toThrow('cancelled')
    expect(steps).toBeLessThan(20)
    expect(() => readAdapter(task.outputFolder, model)).toThrow()
  })

  test('jobs asked for at once run one after another', async () => {
    const tasks = [sftTask([conversation('hello', 'hi')]), sftTask([conversation('name?', 'bob')])]
    const order: string[] = []
    await Promise.all(
      tasks.map((task, index) => engine.train(task, ({ type }) => order.push(`${index} ${type}`), never)),
    )
    expect(order).toEqual(['0 started', '0 step', '1 started', '1 step'])
  })

  test('check resolves where the engine works', async () => {
    await expect(engine.check()).resolves.toBeUndefined()
  })

  test('an adapter of another model is refused with its name', async () => {
    const task = sftTask([conversation('hello', 'hi')], { baseModelFolder: join(fixtures, 'tiny-qwen2') })
    await expect(run(task)).rejects.toThrow(/adapter_model\.safetensors.* does not fit/)
  })
})
