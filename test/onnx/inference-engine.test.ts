import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { describe, expect, test, vi } from 'vitest'
import { BusyError, PromptError } from '../../src/inference/engine.ts'
import { readAdapter } from '../../src/onnx/adapter.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { sftOptimizer } from '../../src/onnx/optimizer.ts'
import { openLoraProgram } from '../../src/onnx/train-program.ts'
import { createTrainer } from '../../src/onnx/trainer.ts'
import { baseModels, collect, createEngine, idsOf, never, type RequestOptions, requestOf } from './engine-harness.ts'
import { fixtureModels, fixtures, quiet } from './golden.ts'
import { rowOf } from './rows.ts'

const shared = createEngine()
const generate = (options: RequestOptions, engine = shared) => collect(engine.generate(requestOf(options), never))

describe('generation', () => {
  test('gives the prompt, then every token once, then the reason', async () => {
    const { prompt, choices } = await generate({ sampling: { topLogprobs: 3 } })
    // <|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n
    expect(prompt.slice(0, 9)).toEqual([1, 120, 118, 104, 117, 13, 261, 114, 2])
    const [choice] = choices
    expect(choice).toMatchObject({ reason: 'length' })
    expect(choice!.tokens).toHaveLength(12)
    for (const token of choice!.tokens) {
      expect(token.top).toHaveLength(3)
      // greedy: the token is its own best alternative
      expect(token.top[0]).toMatchObject({ id: token.id, logprob: token.logprob, bytes: token.bytes })
      expect(token.logprob).toBeLessThanOrEqual(0)
    }
  })

  test.each(fixtureModels)('log-probabilities are those that training computes: %s', async model => {
    const folder = join(fixtures, model)
    const adapter = readAdapter(join(folder, 'adapter'), readModelConfig(folder))
    const program = await openLoraProgram(folder, adapter, { rows: 1, length: 64 }, { type: 'sft' }, quiet)
    const trainer = createTrainer(program, adapter.factors, sftOptimizer)
    const { prompt, choices } = await generate({
      model,
      isTuned: true,
      sampling: { temperature: 1.3, maxTokens: 30, topLogprobs: 0 },
    })
    const ids = idsOf(choices[0])!
    const row = rowOf([{ ids: [...prompt, ...ids], trainFrom: prompt.length }], 64)
    const [logprobs] = await trainer.logprobs([row])
    choices[0]!.tokens.forEach(({ logprob }, index) => {
      expect(Math.abs(logprob - logprobs![prompt.length - 1 + index]!)).toBeLessThan(1e-4)
    })
    await trainer.close()
  })

  test('an adapter changes the text, and leaves the base model as it was', async () => {
    const before = await generate({})
    const tuned = await generate({ isTuned: true })
    expect(idsOf(tuned.choices[0])).not.toEqual(idsOf(before.choices[0]))
    expect(idsOf((await generate({})).choices[0])).toEqual(idsOf(before.choices[0]))
  })

  test('requests that run together get what each gets alone', async () => {
    const requests: RequestOptions[] = Array.from({ length: 12 }, (_, index) => ({
      text: 'x'.repeat(1 + index * 5),
      isTuned: index % 3 === 1,
      model: fixtureModels[index % 2]!,
      sampling: { temperature: index % 2, seed: index, maxTokens: 5 + index },
    }))
    const together = await Promise.all(requests.map(request => generate(request)))
    for (const [index, request] of requests.entries()) {
      const alone = await generate(request)
      expect(idsOf(together[index]!.choices[0])).toEqual(idsOf(alone.choices[0]))
    }
  })

  test('the same seed gives the same choices, each another, whatever fits the batch', async () => {
    const sampling = { temperature: 1, seed: 42, n: 5 }
    const small = createEngine({ maxBatch: 2 })
    const first = await generate({ sampling })
    const second = await generate({ sampling }, small)
    expect(first.choices.map(idsOf)).toEqual(second.choices.map(idsOf))
    expect(new Set(first.choices.map(choice => String(idsOf(choice)))).size).toBe(5)
    const other = await generate({ sampling: { ...sampling, seed: 43 } })
    expect(other.choices.map(idsOf)).not.toEqual(first.choices.map(idsOf))
  })

  test('without a seed every request draws anew', async () => {
    const sampling = { temperature: 1, seed: null }
    const [one, two] = await Promise.all([generate({ sampling }), generate({ sampling })])
    expect(idsOf(one.choices[0])).not.toEqual(idsOf(two.choices[0]))
  })

  test('a stop string ends the text before it', async () => {
    const free = await generate({ sampling: { temperature: 1, maxTokens: 40 } })
    const { text } = free.choices[0]!
    const letters = [...text].filter(letter => letter >= ' ' && letter <= '~')
    const stop = letters[3]!
    const stopped = await generate({ sampling: { temperature: 1, maxTokens: 40, stop: ['never there', stop] } })
    expect(stopped.choices[0]).toMatchObject({ text: text.slice(0, text.indexOf(stop)), reason: 'stop' })
  })

  test('the context ends the text where the request sets no limit', async () => {
    const { prompt, choices } = await generate({ sampling: { maxTokens: null, temperature: 1, seed: 3 } })
    expect(choices[0]!.reason).toBe('length')
    expect(prompt.length + choices[0]!.tokens.length).toBe(128)
  })
})

describe('refusals', () => {
  test('a prompt that fills the context', async () => {
    await expect(generate({ text: 'x'.repeat(130) })).rejects.toMatchObject({
      loc: ['messages'],
      type: 'context_length',
    })
  })

  test('a template that refuses says why', async () => {
    const error = await generate({ role: 'reject' }).catch(error => error)
    expect(error).toBeInstanceOf(PromptError)
    expect(error.message).toContain('role reject is refused')
  })

  test('a template that never ends is stopped, and the next prompt is rendered', async () => {
    const engine = createEngine({ templateLimitMs: 1000 })
    const [endless, fine] = await Promise.allSettled([generate({ role: 'loop' }, engine), generate({}, engine)])
    expect(endless).toMatchObject({ status: 'rejected', reason: { name: 'PromptError', type: 'template_time_limit' } })
    expect(fine.status).toBe('fulfilled')
  })

  test('a template of the request that never ends fails its request only, and nobody else waits for it', async () => {
    const engine = createEngine({ templateLimitMs: 3000 })
    await generate({}, engine)
    const loop = '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}'
    const order: string[] = []
    const endless = generate({ prompt: { chatTemplate: loop } }, engine).catch(error => {
      order.push('endless')
      return error
    })
    const fine = await generate({}, engine)
    order.push('fine')
    expect(await endless).toMatchObject({
      name: 'PromptError',
      loc: ['chat_template'],
      type: 'template_time_limit',
    })
    expect(order).toEqual(['fine', 'endless'])
    const own = await generate({ prompt: { chatTemplate: '{{ messages[0].content }}' } }, engine)
    expect(own.prompt.length).toBeLessThan(fine.prompt.length)
  })

  test('more choices than batch and queue hold, until there is room again', async () => {
    const engine = createEngine({ maxBatch: 2, queueLength: 1 })
    const running = [1, 2, 3].map(seed => generate({ sampling: { temperature: 1, maxTokens: 30, seed } }, engine))
    await expect(generate({}, engine)).rejects.toBeInstanceOf(BusyError)
    await Promise.all(running)
    await expect(generate({}, engine)).resolves.toBeDefined()
  })

  test('a base model whose files are broken fails its requests only', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trainyard-'))
    cpSync(join(fixtures, 'tiny-llama'), folder, { recursive: true })
    writeFileSync(join(folder, 'model.safetensors'), 'broken')
    const models = new Map([...baseModels, ['broken', { folder, contextLength: 128 }]])
    const engine = createEngine({ baseModels: models })
    await expect(generate({ model: 'broken' }, engine)).rejects.toThrow(/model\.safetensors/)
    await expect(engine.check()).rejects.toThrow(/model\.safetensors/)
    await expect(generate({}, engine)).resolves.toBeDefined()
    rmSync(folder, { recursive: true })
  })
})

describe('ending early', () => {
  test('an abort ends the request with its reason and frees its place', async () => {
    const engine = createEngine({ maxBatch: 1, queueLength: 1 })
    const controller = new AbortController()
    const endless = requestOf({ sampling: { maxTokens: null, temperature: 1, n: 1 } })
    let tokens = 0
    const reading = (async () => {
      for await (const part of engine.generate(endless, controller.signal)) {
        if (part.type === 'delta') tokens += 1
        if (tokens === 3) controller.abort(new Error('the client went away'))
      }
    })()
    await expect(reading).rejects.toThrow('the client went away')
    expect(tokens).toBe(3)
    const after = await generate({}, engine)
    expect(after.choices[0]!.reason).toBe('length')
  })

  test('a consumer that stops reading frees the place too', async () => {
    const engine = createEngine({ maxBatch: 1, queueLength: 0 })
    const posted = vi.spyOn(Worker.prototype, 'postMessage')
    for await (const part of engine.generate(requestOf({ sampling: { maxTokens: null } }), never)) {
      if (part.type === 'delta') break
    }
    expect(posted).toHaveBeenCalledWith({ abort: expect.any(Number) })
    posted.mockRestore()
    await expect(generate({}, engine)).resolves.toBeDefined()
  })

  test('closing ends what runs', async () => {
    const engine = createEngine()
    const running = generate({ sampling: { maxTokens: null, temperature: 1 } }, engine)
    const failed = expect(running).rejects.toThrow(/closed/)
    await engine.close()
    await failed
  })
})

test('check resolves where the engine works', async () => {
  await expect(shared.check()).resolves.toBeUndefined()
})
