import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DataError, type SftConfig } from '../../src/training/engine.ts'
import type { PackedRow, Renderer } from '../../src/training/rows.ts'
import { checkSftFile, readSftBatches } from '../../src/training/sft-dataset.ts'
import { checkMetadata, selectTrainingFile } from '../../src/training/training-files.ts'
import { createFakeRenderer, decode, encode, TURN_END, TURN_START } from './fake-renderer.ts'

let folder = ''
let file = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trainyard-sft-'))
  file = join(folder, 'trajectories.jsonl')
})

afterAll(() => rm(folder, { recursive: true }))

const plain: SftConfig = { batchSize: 2, learningRate: 1e-4 }

function user(content: string) {
  return { role: 'user', content }
}

function assistant(content: string) {
  return { role: 'assistant', content }
}

/** Writes one line for each value (strings as they are) and reads them back as batches. */
async function read(lines: unknown[], { config = plain, renderer = createFakeRenderer() as Renderer } = {}) {
  await writeFile(file, lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'))
  return readSftBatches(file, renderer, config, 1)
}

/** Each sequence's text with what trains in brackets. */
function describeSequences(rows: PackedRow[]): string[] {
  return rows.flatMap(row => {
    const texts: string[] = []
    row.sequence.forEach((number, i) => {
      if (number < 0) return
      const letter = decode([row.ids[i]!])
      const trained = i > 0 && row.weight[i - 1]! > 0
      texts[number] = `${texts[number] ?? ''}${trained ? `[${letter}]` : letter}`
    })
    return texts.map(text => text.replaceAll('][', ''))
  })
}

async function catchDataError(promise: Promise<unknown>): Promise<DataError> {
  const error = await promise.then(
    () => new Error('expected a DataError'),
    (reason: unknown) => reason,
  )
  if (error instanceof DataError) return error
  throw error
}

describe('readSftBatches', () => {
  test('trains every assistant turn up to its end and nothing else', async () => {
    const messages = [user('a'), assistant('bc'), user('d'), assistant('e')]
    const { batches, summary } = await read([{ messages }])
    expect(batches).toHaveLength(1)
    expect(describeSequences(batches[0]!.rows)).toEqual(['<user\na>\n<assistant\n[bc>]\n<user\nd>\n<assistant\n[e>]'])
    const row = batches[0]!.rows[0]!
    expect(row.weight.filter(weight => weight > 0)).toEqual(new Float32Array(5).fill(1))
    expect(row.advantage.filter(advantage => advantage !== 0)).toEqual(new Float32Array(5).fill(1))
    expect(row.oldLogprob.every(Number.isNaN)).toBe(true)
    expect(summary).toEqual({
      num_sequences: 1,
      num_trajectories: 1,
      num_trajectories_dropped: 0,
      num_trainable_tokens: 5,
    })
  })

  test('takes choices by their message, tools, nulls and blank lines', async () => {
    const renderer = createFakeRenderer()
    const tools = [{ type: 'function', function: { name: 'add', parameters: {} } }]
    const choice = { finish_reason: 'stop', index: 0, logprobs: null, message: { ...assistant('b'), refusal: null } }
    const line = { messages: null, messages_and_choices: [user('a'), choice], tools, loss_mask: null }
    const { batches } = await read(['\ufeff' + JSON.stringify(line), '', '  \r', ''], { renderer })
    expect(describeSequences(batches[0]!.rows)).toEqual([
      `<tools\n${JSON.stringify(tools)}>\n<user\na>\n<assistant\n[b>]`,
    ])
    expect(renderer.prompts.at(-1)!.messages.at(-1)).toEqual(assistant('b'))
  })

  test('slices in the order of the file, with a short last batch', async () => {
    const lines = ['a', 'b', 'c', 'd', 'e'].map(letter => ({ messages: [user('?'), assistant(letter)] }))
    const { batches, summary } = await read(lines)
    const trained = batches.map(({ rows }) => describeSequences(rows).map(text => text.match(/\[(.)>\]/)![1]))
    expect(trained).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    expect(batches.map(({ trajectories, trainableTokens }) => [trajectories, trainableTokens])).toEqual([
      [2, 4],
      [2, 4],
      [1, 2],
    ])
    expect(summary.num_sequences).toBe(3)
  })

  test('gives each batch its rate, the last of a list going on', async () => {
    const lines = ['a', 'b', 'c'].map(letter => ({ messages: [user('?'), assistant(letter)] }))
    const rates = async (learningRate: number | number[]) => {
      const { batches } = await read(lines, { config: { batchSize: 1, learningRate } })
      return batches.map(batch => batch.learningRate)
    }
    expect(await rates(0.1)).toEqual([0.1, 0.1, 0.1])
    expect(await rates([0.1, 0.2])).toEqual([0.1, 0.2, 0.2])
    expect(await rates([0.1, 0.2, 0.3, 0.4])).toEqual([0.1, 0.2, 0.3])
  })

  test('drops what is too long, counts it, and keeps the other batches in their place', async () => {
    const long = { messages: [user('?'), assistant('x'.repeat(100))] }
    const short = (letter: string) => ({ messages: [user('?'), assistant(letter)] })
    const renderer = createFakeRenderer({ contextLength: 60 })
    const config = { batchSize: 2, learningRate: [0.1, 0.2, 0.3] }
    const { batches, summary } = await read([long, short('b'), long, long, short('e')], { renderer, config })
    expect(batches.map(({ rows }) => describeSequences(rows))).toEqual([
      ['<user\n?>\n<assistant\n[b>]'],
      ['<user\n?>\n<assistant\n[e>]'],
    ])
    expect(batches.map(({ learningRate }) => learningRate)).toEqual([0.1, 0.3])
    expect(summary).toMatchObject({ num_sequences: 2, num_trajectories: 5, num_trajectories_dropped: 3 })
    expect((await read([long], { renderer })).batches).toEqual([])
  })

  test('gives all rows of the job one length', async () => {
    const lines = [1, 600, 2].map(length => ({ messages: [user('?'), assistant('x'.repeat(length))] }))
    const { batches } = await read(lines, { config: { batchSize: 1, learningRate: 1 } })
    expect(batches.map(({ rows }) => rows.map(({ length }) => length))).toEqual([[1024], [1024], [1024]])
  })

  test('trains each turn after what the template shows at that turn, where it rewrites earlier ones', async () => {
    // Shows the thought of the last message only, and asks for one: as templates of reasoning models do.
    const thinking: Renderer = {
      ...createFakeRenderer(),
      render: ({ messages, addGenerationPrompt }) => [
        ...messages.flatMap(({ role, content }, i) => {
          const thought = role === 'assistant' && i === messages.length - 1 ? '~' : ''
          return [TURN_START, ...encode(`${role[0]}:${thought}${content}`), TURN_END, ...encode('\n')]
        }),
        ...(addGenerationPrompt ? [TURN_START, ...encode('a:')] : []),
      ],
    }
    const { batches } = await read([{ messages: [user('1'), assistant('2'), user('3'), assistant('4')] }], {
      renderer: thinking,
    })
    expect(describeSequences(batches[0]!.rows)).toEqual(['<u:1>\n<a:[~2>]', '<u:1>\n<a:2>\n<u:3>\n<a:[~4>]'])
    expect(batches[0]!.trajectories).toBe(1)
    expect(batches[0]!.rows[0]!.trajectories).toBe(1)
  })

  test('trains a whole turn where the template ends it with no token of its own', async () => {
    const endless: Renderer = {
      ...createFakeRenderer(),
      render: ({ messages, addGenerationPrompt }) =>
        encode(
          `${messages.map(({ role, content }) => `${role}: ${content}\n`).join('')}${addGenerationPrompt ? 'assistant:' : ''}`,
        ),
    }
    const messages = [user('1'), assistant('2'), user('3'), assistant('4')]
    const { batches } = await read([{ messages }], { renderer: endless })
    expect(describeSequences(batches[0]!.rows)).toEqual(['user: 1\nassistant:[ 2\n]user: 3\nassistant:[ 4\n]'])
  })

  test('reads lines cut anywhere by the stream, and line separators inside text', async () => {
    const lines = Array.from({ length: 3000 }, (_, i) => ({
      messages: [user(`é\u2028${i}`), assistant('ü'.repeat(i % 90))],
    }))
    await writeFile(file, lines.map(line => `${JSON.stringify(line)}\r\n`).join(''))
    expect(await checkSftFile(file)).toBe(3000)
    const last = (await readSftBatches(file, createFakeRenderer(), { batchSize: 3000, learningRate: 1 }, 1)).batches[0]!
    const trained = lines.reduce((sum, { messages }) => sum + Buffer.byteLength(messages[1]!.content) + 1, 0)
    expect(last.trainableTokens).toBe(trained)
  })
})

describe('bad SFT data', () => {
  const good = { messages: [user('a'), assistant('b')] }

  test.each<[string, unknown, string[]]>([
    ['not JSON', '{"messages": [', []],
    ['not an object', '[]', []],
    ['no messages', { conversation: [] }, ['messages']],
    ['messages of another kind', { messages: 'hi' }, ['messages']],
    ['empty messages', { messages: [] }, ['messages']],
    ['message of another kind', { messages: ['hi'] }, ['messages', '0']],
    ['missing role', { messages: [{ content: 'a' }] }, ['messages', '0', 'role']],
    ['misspelt role', { messages: [{ role: 'usr', content: 'a' }, assistant('b')] }, ['messages', '0', 'role']],
    ['number as content', { messages: [{ role: 'user', content: 1 }] }, ['messages', '0', 'content']],
    ['missing content', { messages: [{ role: 'user' }, assistant('b')] }, ['messages', '0', 'content']],
    [
      'answer of nothing',
      { messages: [user('a'), { role: 'assistant', content: null, tool_calls: [] }] },
      ['messages', '1', 'content'],
    ],
    ['no assistant turn', { messages: [user('a')] }, ['messages', '0', 'role']],
    ['last message of the user', { messages: [user('a'), assistant('b'), user('c')] }, ['messages', '2', 'role']],
    ['assistant first', { messages: [assistant('b')] }, ['messages', '0', 'role']],
    ['tools of another kind', { ...good, tools: {} }, ['tools']],
    [
      'bad choice',
      { messages_and_choices: [user('a'), { message: { role: 'assistant', content: 3 } }] },
      ['messages_and_choices', '1', 'message', 'content'],
    ],
  ])('%s', async (_, line, rest) => {
    const reading = await catchDataError(read([good, '', line]))
    expect(reading.loc).toEqual(['trajectories.jsonl', '3', ...rest])
    expect(reading.message).not.toBe('')
    expect((await catchDataError(checkSftFile(file))).loc).toEqual(reading.loc)
  })

  test('tool calls stand in for content', async () => {
    const call = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: '1', type: 'function', function: { name: 'f' } }],
    }
    expect((await read([{ messages: [user('a'), call] }])).summary.num_trajectories).toBe(1)
  })

  test('what the template refuses is found with a renderer', async () => {
    const messages = [user('a'), assistant('b'), { role: 'tool', content: 'c' }, assistant('d')]
    await writeFile(
      file,
      JSON.stringify({
        messages_and_choices: [...messages.slice(0, 1), { message: messages[1] }, ...messages.slice(2)],
      }),
    )
    const strict = createFakeRenderer()
    const refusing: Renderer = {
      ...strict,
      render: prompt =>
        strict.render({
          ...prompt,
          messages: prompt.messages.map((message, i) => (i === 1 ? { ...message, role: 'forbidden' } : message)),
        }),
    }
    expect(await checkSftFile(file)).toBe(1)
    const loc = ['trajectories.jsonl', '1', 'messages_and_choices', '1', 'message', 'role']
    expect((await catchDataError(checkSftFile(file, refusing))).loc).toEqual(loc)
    expect((await catchDataError(readSftBatches(file, refusing, plain, 1))).loc).toEqual(loc)
  })

  test.each([
    ['an empty file', '', ['trajectories.jsonl']],
    ['blank lines only', '\n\n', ['trajectories.jsonl']],
    [
      'bytes that are no UTF-8',
      Buffer.from(`\n${JSON.stringify({ messages: [user('\xff'), assistant('b')] })}`, 'latin1'),
      ['trajectories.jsonl', '2'],
    ],
  ])('%s', async (_, content, loc) => {
    await writeFile(file, content)
    expect((await catchDataError(checkSftFile(file))).loc).toEqual(loc)
  })

  test('a line without end is not read to its end', async () => {
    await writeFile(file, Buffer.alloc(65 * 2 ** 20, 0x20))
    expect((await catchDataError(checkSftFile(file))).loc).toEqual(['trajectories.jsonl', '1'])
  })

  test('names the file as the caller knows it', async () => {
    await writeFile(file, 'x')
    expect((await catchDataError(checkSftFile(file, undefined, 'train.jsonl'))).loc).toEqual(['train.jsonl', '1'])
  })
})

describe('selectTrainingFile', () => {
  test.each([
    [['metadata.json', 'train.jsonl', 'trajectories.jsonl'], 'trajectories.jsonl'],
    [['train.jsonl', 'more.jsonl'], 'train.jsonl'],
    [['data/part.jsonl', 'metadata.json'], 'data/part.jsonl'],
  ])('of %j takes %s', (paths, expected) => {
    expect(selectTrainingFile(paths)).toBe(expected)
  })

  test.each([[[]], [['metadata.json']], [['a.jsonl', 'b.jsonl']]])('refuses %j', paths => {
    expect(() => selectTrainingFile(paths)).toThrow(
      expect.objectContaining({ name: 'DataError', loc: ['training_data_url'] }),
    )
  })

  test('metadata must be a JSON object', () => {
    checkMetadata('{"format": "jsonl"}')
    for (const text of ['[]', '{', '3']) {
      expect(() => checkMetadata(text)).toThrow(expect.objectContaining({ name: 'DataError', loc: ['metadata.json'] }))
    }
  })
})
