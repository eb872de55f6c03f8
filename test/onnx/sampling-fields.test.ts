/** Every field of a sampling through the engine's port, on models that know nothing: each test fails if its field is ignored. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Sampling } from '../../src/inference/engine.ts'
import { readAdapter } from '../../src/onnx/adapter.ts'
import { readModelConfig } from '../../src/onnx/model-config.ts'
import { sftOptimizer } from '../../src/onnx/optimizer.ts'
import { TokenTable } from '../../src/onnx/token-table.ts'
import { openLoraProgram } from '../../src/onnx/train-program.ts'
import { createTrainer } from '../../src/onnx/trainer.ts'
import { collect, createEngine, idsOf, never, type RequestOptions, requestOf } from './engine-harness.ts'
import { fixtures, quiet } from './golden.ts'
import { rowOf } from './rows.ts'

const folder = join(fixtures, 'tiny-llama')
const tokens = new TokenTable(folder)
const id = (letter: string) => tokens.tokenId([...Buffer.from(letter)])!
const EOS = 2
const END_OF_TEXT = 0

const engine = createEngine()
const generate = (sampling: Partial<Sampling>, options: RequestOptions = {}) =>
  collect(engine.generate(requestOf({ ...options, sampling: { ...options.sampling, ...sampling } }), never))
const first = async (sampling: Partial<Sampling>) => (await generate(sampling)).choices[0]!
const failure = (sampling: Partial<Sampling>, options?: RequestOptions) =>
  generate(sampling, options).catch(error => error)

describe('which token comes', () => {
  const letters = [...'abcdef'].map(id)

  test('allowedTokenIds', async () => {
    const { tokens } = await first({ temperature: 2, allowedTokenIds: letters, maxTokens: 40 })
    expect(tokens.every(token => letters.includes(token.id))).toBe(true)
    expect(new Set(tokens.map(token => token.id)).size).toBeGreaterThan(3)
  })

  test('logitBias', async () => {
    expect((await first({ logitBias: [[id('q'), 100]] })).text).toBe('q'.repeat(12))
    expect(
      (
        await first({
          logitBias: [
            [id('q'), 100],
            [id('r'), 99.9],
            [id('s'), -100],
          ],
        })
      ).text,
    ).toMatch(/^[qr]+$/)
  })

  test('badWords', async () => {
    const sampling = { temperature: 1, allowedTokenIds: [id('a'), id('b'), id(' ')], maxTokens: 60 }
    expect((await first(sampling)).text).toContain('ab')
    const { text } = await first({ ...sampling, badWords: ['ab'] })
    expect(text).not.toContain('ab')
    expect(text).toContain('b')
    expect((await first({ ...sampling, badWords: ['b'] })).text).not.toContain('b')
  })

  test('presencePenalty and frequencyPenalty', async () => {
    const sampling: Partial<Sampling> = {
      allowedTokenIds: letters,
      logitBias: letters.map((letter, index) => [letter, 50 - index * 10]),
      maxTokens: 30,
    }
    expect((await first(sampling)).text).toBe('a'.repeat(30))
    // 15 is more than one step of 10 with the model's own small logits
    expect((await first({ ...sampling, presencePenalty: 15 })).text).toBe('ab' + 'a'.repeat(28))
    const { text } = await first({ ...sampling, frequencyPenalty: 2 })
    expect(text).toMatch(/^a{4,8}b/)
    expect(new Set(text).size).toBeGreaterThan(2)
  })

  test('repetitionPenalty, which counts the prompt too', async () => {
    // the prompt has an o, and no q
    const sampling: Partial<Sampling> = {
      allowedTokenIds: [id('o'), id('q')],
      logitBias: [
        [id('o'), 20],
        [id('q'), 10],
      ],
    }
    expect((await first(sampling)).text).toBe('o'.repeat(12))
    expect((await first({ ...sampling, repetitionPenalty: 4 })).text).toMatch(/^qo/)
  })

  test('topK, topP and minP leave the most probable token alone when they are strict', async () => {
    const greedy = await first({})
    for (const strict of [{ topK: 1 }, { topP: 1e-6 }, { minP: 1 }]) {
      expect(idsOf(await first({ temperature: 3, ...strict }))).toEqual(idsOf(greedy))
    }
    expect(idsOf(await first({ temperature: 3 }))).not.toEqual(idsOf(greedy))
  })

  test('minTokens', async () => {
    const sampling: Partial<Sampling> = { logitBias: [[EOS, 100]] }
    expect(await first(sampling)).toMatchObject({ reason: 'stop', tokens: [{ id: EOS }] })
    const late = await first({ ...sampling, minTokens: 5 })
    expect(idsOf(late)!.indexOf(EOS)).toBe(5)
    expect(late).toMatchObject({ reason: 'stop', stopTokenId: null })
  })

  test('constraint, of each choice its own', async () => {
    const constraint = { kind: 'choice', choices: ['yes', 'no', 'perhaps'] } as const
    const { choices } = await generate({ constraint, temperature: 1, n: 8, maxTokens: 30 })
    expect(choices).toHaveLength(8)
    for (const { text, reason } of choices) {
      expect(['yes', 'no', 'perhaps']).toContain(text)
      expect(reason).toBe('stop')
    }
    expect(new Set(choices.map(({ text }) => text)).size).toBeGreaterThan(1)
    // the end is forced against what would go on
    const forced = await first({ constraint, ignoreEos: true, minTokens: 20, maxTokens: 30 })
    expect(forced.reason).toBe('stop')
  })

  test('constraint on JSON', async () => {
    const schema = {
      type: 'object',
      properties: { ok: { type: 'boolean' }, kind: { enum: ['a', 'b'] } },
      required: ['ok', 'kind'],
      additionalProperties: false,
    }
    const constraint = { kind: 'json_schema', schema, disableAnyWhitespace: true } as const
    const { text, reason } = await first({ constraint, temperature: 1, maxTokens: 60 })
    expect(reason).toBe('stop')
    expect(JSON.parse(text)).toEqual({ ok: expect.any(Boolean), kind: expect.stringMatching(/^[ab]$/) })
  })
})

describe('where it ends', () => {
  test('stopTokenIds', async () => {
    const sampling: Partial<Sampling> = { logitBias: [[id('q'), 100]], stopTokenIds: [id('q')] }
    expect(await first(sampling)).toMatchObject({ reason: 'stop', stopTokenId: id('q'), text: '' })
    expect(await first({ ...sampling, includeStop: true })).toMatchObject({ text: 'q' })
    expect(await first({ ...sampling, minTokens: 3 })).toMatchObject({ tokens: { length: 4 } })
  })

  test('includeStop with a stop string', async () => {
    const sampling: Partial<Sampling> = { logitBias: [[id('q'), 100]], stop: ['qq'] }
    expect(await first(sampling)).toMatchObject({ reason: 'stop', text: '' })
    expect(await first({ ...sampling, includeStop: true })).toMatchObject({ reason: 'stop', text: 'qq' })
  })

  test('ignoreEos', async () => {
    const sampling: Partial<Sampling> = { logitBias: [[EOS, 100]], ignoreEos: true }
    expect(await first(sampling)).toMatchObject({ reason: 'length', tokens: { length: 12 } })
  })

  test('repetitionDetection', async () => {
    const repetitionDetection = { minPatternSize: 1, maxPatternSize: 3, minCount: 4 }
    const sampling: Partial<Sampling> = { logitBias: [[id('q'), 100]], repetitionDetection }
    expect(await first(sampling)).toMatchObject({ reason: 'repetition', text: 'qqqq', stopTokenId: null })
  })
})

describe('what is shown', () => {
  test('skipSpecialTokens and spacesBetweenSpecialTokens', async () => {
    const sampling: Partial<Sampling> = { logitBias: [[END_OF_TEXT, 100]], maxTokens: 2 }
    expect((await first(sampling)).text).toBe('')
    const shown = { ...sampling, skipSpecialTokens: false }
    expect((await first(shown)).text).toBe('<|endoftext|> <|endoftext|>')
    expect((await first({ ...shown, spacesBetweenSpecialTokens: false })).text).toBe('<|endoftext|><|endoftext|>')
  })
})

async function trainerLogprobs(ids: number[], from: number): Promise<number[]> {
  const adapter = readAdapter(join(folder, 'adapter'), readModelConfig(folder))
  const program = await openLoraProgram(folder, adapter, { rows: 1, length: 64 }, { type: 'sft' }, quiet)
  const trainer = createTrainer(program, adapter.factors, sftOptimizer)
  const [logprobs] = await trainer.logprobs([rowOf([{ ids, trainFrom: from }], 64)])
  await trainer.close()
  return [...logprobs!.subarray(from - 1, ids.length - 1)]
}

describe('log-probabilities', () => {
  test('are those before any rule', async () => {
    const sampling: Partial<Sampling> = { topLogprobs: 1, logitBias: [[id('q'), 100]], temperature: 1 }
    const { prompt, choices } = await generate(sampling, { isTuned: true })
    const expected = await trainerLogprobs([...prompt, ...idsOf(choices[0])!], prompt.length)
    choices[0]!.tokens.forEach(({ logprob, top }, index) => {
      expect(Math.abs(logprob - expected[index]!)).toBeLessThan(1e-4)
      expect(top[0]!.logprob).toBeGreaterThanOrEqual(logprob)
    })
    expect(choices[0]!.tokens.some(({ id, top }) => top[0]!.id !== id)).toBe(true)
  })

  test('of the prompt are those that training computes, with alternatives and ranks', async () => {
    const { prompt, logprobs } = await generate({ promptLogprobs: 3, maxTokens: 1 }, { isTuned: true })
    expect(logprobs).toHaveLength(prompt.length)
    expect(logprobs![0]).toBeNull()
    const expected = await trainerLogprobs(prompt, 1)
    logprobs!.slice(1).forEach((entries, index) => {
      const [own, ...others] = entries!
      expect(own!.id).toBe(prompt[index + 1])
      expect(own!.token).toBe(tokens.text(own!.id))
      expect(Math.abs(own!.logprob - expected[index]!)).toBeLessThan(1e-4)
      expect(others.length).toBe(own!.rank <= 3 ? 2 : 3)
      expect([...entries!].sort((a, b) => a.rank - b.rank).map(({ logprob }) => logprob)).toEqual(
        entries!.map(({ logprob }) => logprob).sort((a, b) => b - a),
      )
    })
    const plain = await generate({ promptLogprobs: 0, maxTokens: 1 })
    expect(plain.logprobs!.slice(1).every(entries => entries!.length === 1)).toBe(true)
    expect((await generate({ maxTokens: 1 })).logprobs).toBeNull()
  })
})

describe('beam search', () => {
  const sampling: Partial<Sampling> = { beam: { lengthPenalty: 1 }, n: 5, topLogprobs: 0, maxTokens: 15 }
  const sum = (logprobs: number[]) => logprobs.reduce((total, logprob) => total + logprob, 0)

  test('reports for each beam the log-probabilities that its own tokens have', async () => {
    const { prompt, choices } = await generate(sampling, { isTuned: true })
    expect(choices).toHaveLength(5)
    const scores: number[] = []
    for (const { tokens } of choices) {
      const ids = tokens.map(token => token.id)
      const expected = await trainerLogprobs([...prompt, ...ids], prompt.length)
      tokens.forEach(({ logprob }, index) => {
        expect(Math.abs(logprob - expected[index]!)).toBeLessThan(1e-4)
      })
      scores.push(sum(tokens.map(({ logprob }) => logprob)) / ids.length)
    }
    // the score is their sum over the length
    expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    expect(new Set(choices.map(choice => String(idsOf(choice)))).size).toBe(5)
  })

  test('is the same alone and beside other requests', async () => {
    const alone = await generate(sampling)
    const others = [1, 2, 3].map(seed => generate({ temperature: 1, seed, maxTokens: 5 + seed }))
    const beside = await generate(sampling)
    await Promise.all(others)
    expect(beside.choices.map(idsOf)).toEqual(alone.choices.map(idsOf))
  })

  test('with more beams than are generated at once is refused', async () => {
    expect(await failure({ ...sampling, n: 9 })).toMatchObject({ name: 'PromptError', loc: ['n'] })
  })
})

describe('the prompt', () => {
  test('truncateTokens keeps the end', async () => {
    const whole = await generate({ maxTokens: 1 })
    const cut = await generate({ maxTokens: 1 }, { prompt: { truncateTokens: 5 } })
    expect(cut.prompt).toEqual(whole.prompt.slice(-5))
    const long: RequestOptions = { text: 'x'.repeat(200), prompt: { truncateTokens: -1 } }
    expect((await generate({ maxTokens: 20 }, long)).prompt).toHaveLength(108)
    expect((await generate({ maxTokens: null }, long)).prompt).toHaveLength(127)
    expect((await generate({ maxTokens: 20 }, { prompt: { truncateTokens: -1 } })).prompt).toEqual(whole.prompt)
  })

  test('chatTemplate, templateVariables and addGenerationPrompt', async () => {
    const chatTemplate = '{{ messages[0].content }}{{ extra }}{% if add_generation_prompt %}?{% endif %}'
    const prompt = { chatTemplate, templateVariables: { extra: 'ab' } }
    const text = async (changes: object) => {
      const { prompt: ids } = await generate({ maxTokens: 1 }, { prompt: { ...prompt, ...changes } })
      return tokens.decode(ids, { skipSpecial: false })
    }
    expect(await text({})).toBe('helloab?')
    expect(await text({ addGenerationPrompt: false })).toBe('helloab')
  })

  test('continueFinalMessage', async () => {
    const changes = { continueFinalMessage: true, addGenerationPrompt: false }
    const { prompt } = await generate({ maxTokens: 1 }, { role: 'assistant', text: 'Sure', prompt: changes })
    expect(tokens.decode(prompt, { skipSpecial: false })).toMatch(/assistant\nSure$/)
  })
})

describe('refusals name the place', () => {
  test.each<[string[], Partial<Sampling>]>([
    [['logit_bias', '264'], { logitBias: [[264, 1]] }],
    [['allowed_token_ids', '1'], { allowedTokenIds: [1, -1] }],
    [['stop_token_ids', '0'], { stopTokenIds: [300] }],
    [['bad_words', '1'], { badWords: ['a', ' '] }],
    [['allowed_token_ids'], { allowedTokenIds: [EOS], minTokens: 3 }],
    [['constraint', 'properties', 'a'], constraintOf({ properties: { a: { type: 'unknown' } } })],
    [['constraint'], { constraint: { kind: 'regex', pattern: '(' } }],
  ])('%j', async (loc, sampling) => {
    const error = await failure(sampling)
    expect(error.name).toBe('PromptError')
    expect(error.loc.slice(0, loc.length)).toEqual(loc)
  })

  test('truncateTokens beyond the context', async () => {
    expect(await failure({}, { prompt: { truncateTokens: 129 } })).toMatchObject({ loc: ['truncate_prompt_tokens'] })
  })

  test('and harm nobody else', async () => {
    const fine = generate({ temperature: 1, maxTokens: 60 })
    const failures = [constraintOf({ type: 'unknown' }), { allowedTokenIds: [EOS], minTokens: 3 }].map(sampling =>
      failure(sampling),
    )
    for (const error of await Promise.all(failures)) expect(error.name).toBe('PromptError')
    expect((await fine).choices[0]!.tokens.length).toBeGreaterThan(0)
  })
})

function constraintOf(schema: unknown): Partial<Sampling> {
  return { constraint: { kind: 'json_schema', schema } }
}
