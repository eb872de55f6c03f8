import { appendFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { createEncoder } from '../../src/generate/tiny-chat/byte-pairs.ts'
import { checkTinyChat, TINY_CHAT_FOLDER } from '../../src/generate/tiny-chat/check.ts'
import { createSampleCorpus } from '../../src/generate/tiny-chat/corpus/conversation.ts'
import { isHeldOut } from '../../src/generate/tiny-chat/corpus/held-out.ts'
import { toCurve } from '../../src/generate/tiny-chat/progress.ts'
import { createRandom } from '../../src/generate/tiny-chat/random.ts'
import { createRows, encodeConversation } from '../../src/generate/tiny-chat/rows.ts'
import { CORPUS_SEED, MODEL } from '../../src/generate/tiny-chat/settings.ts'
import { createModelSources, DIGEST_FILE } from '../../src/generate/tiny-chat/sources.ts'
import { ChatRenderer } from '../../src/onnx/chat-renderer.ts'
import { readWeightIndex } from '../../src/onnx/weights.ts'
import { promptOf } from '../onnx/plain-request.ts'

const { pairs } = createModelSources()
const encode = createEncoder(pairs)
const corpus = createSampleCorpus(CORPUS_SEED, 1000)
const renderer = new ChatRenderer(TINY_CHAT_FOLDER)

describe('the corpus', () => {
  test('is the same for the same seed, and another for another', () => {
    expect(createSampleCorpus(CORPUS_SEED, 50)).toEqual(corpus.slice(0, 50))
    expect(createSampleCorpus(CORPUS_SEED + 1, 50)).not.toEqual(corpus.slice(0, 50))
  })

  test('never repeats a held-out phrase', () => {
    const copied = corpus.flatMap(({ messages, tasks }) => {
      const answers = messages.filter(message => message.role === 'assistant')
      return answers.filter((_, index) => tasks[index] === 'copy').map(answer => answer.content)
    })
    expect(copied.length).toBeGreaterThan(200)
    const plain = copied.map(phrase => phrase.replace(/[.!?]$/, ''))
    const lowered = plain.map(phrase => phrase.charAt(0).toLowerCase() + phrase.slice(1))
    // a capitalised first letter is put on afterwards, so one of the two spellings is the one that was drawn
    expect(plain.filter((phrase, index) => isHeldOut(phrase) && isHeldOut(lowered[index]!))).toEqual([])
  })
})

describe('the tokens that the model was trained on', () => {
  test('are those that the engine makes of the same messages', () => {
    for (const { messages, tools } of corpus.slice(0, 300)) {
      const prompt = promptOf(messages, { tools, addGenerationPrompt: false })
      expect(encodeConversation({ messages, tools, tasks: [] }, encode).ids).toEqual(renderer.render(prompt))
    }
  })

  test('keep any text whole', () => {
    const text = "Ünïcode 🙂 12,345\n\n\ttabs and  spaces — “quotes” don't"
    expect(renderer.decode(encode(text), { skipSpecial: true })).toBe(text)
    expect(encode(text)).toEqual(renderer.encode(text))
    expect(encode('12')).toHaveLength(2)
  })

  test('count only where something is to be predicted within one conversation', () => {
    const [row] = createRows(createRandom(3), encode, { rows: 2, length: 128, turns: [1, 4] })
    for (let place = 0; place < 127; place++) {
      const isSame = row!.sequence[place] === row!.sequence[place + 1]
      expect(row!.weight[place]! > 0).toBe(isSame)
      expect(row!.target[place]).toBe(isSame ? row!.ids[place + 1] : 0)
    }
  })
})

describe('the chat template', () => {
  const render = (messages: unknown[], tools: unknown[] | null = null) =>
    renderer.renderText(promptOf(messages as { role: string }[], { tools }))

  test('takes a developer message for a system message and null for nothing', () => {
    expect(
      render([
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: null },
      ]),
    ).toBe('<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n')
  })

  test('puts tools into one system block, and calls and results into the turns', () => {
    const call = { id: '1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } }
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Add' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', content: '2', tool_call_id: '1' },
    ]
    expect(render(messages, [{ type: 'function', function: { name: 'add' } }])).toBe(
      '<|im_start|>system\nBe brief.\nTools:\n{"name": "add"}<|im_end|>\n<|im_start|>user\nAdd<|im_end|>\n' +
        '<|im_start|>assistant\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call><|im_end|>\n' +
        '<|im_start|>tool\n2<|im_end|>\n<|im_start|>assistant\n',
    )
  })
})

describe('the drift check', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tiny-chat-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const copy = () => cpSync(TINY_CHAT_FOLDER, folder, { recursive: true })

  test('finds the committed model in order', async () => {
    expect(await checkTinyChat()).toEqual([])
  })

  test('names the command that trains when the weights come from other sources', async () => {
    copy()
    writeFileSync(join(folder, DIGEST_FILE), JSON.stringify({ generator: 'other' }))
    const drift = await checkTinyChat(folder)
    expect(drift.map(message => message.match(/another (\w+)/)?.[1])).toEqual(['generator', 'corpus', 'tokenizer'])
    for (const message of drift) expect(message).toContain('npm run generate:model`')
  })

  test('names the command that only writes files when one of them was edited', async () => {
    copy()
    appendFileSync(join(folder, 'config.json'), ' ')
    expect(await checkTinyChat(folder)).toEqual([expect.stringMatching(/config\.json.*generate:model -- --files/)])
  })

  test('misses missing weights', async () => {
    copy()
    rmSync(join(folder, 'model.safetensors'))
    expect(await checkTinyChat(folder)).toEqual([expect.stringContaining('model.safetensors is missing')])
  })
})

test('the weights have about a million parameters in 16 bits', () => {
  const tensors = [...readWeightIndex(TINY_CHAT_FOLDER).tensors.values()]
  const entries = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0)
  expect(entries).toBeGreaterThan(0.7e6)
  expect(entries).toBeLessThan(1.5e6)
  expect(new Set(tensors.map(tensor => tensor.dtype))).toEqual(new Set(['BF16']))
  expect(renderer.contextLength).toBe(MODEL.contextLength)
})

test('the loss is drawn as a curve that falls', () => {
  expect(toCurve([8, 6, 4, 2, 1], 5)).toBe('█▇▅▃▂')
  expect(toCurve(Array.from({ length: 100 }, (_, index) => 100 - index))).toHaveLength(40)
})
