import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { DataError, type RlConfig } from '../../src/training/engine.ts'
import { toRlConfig } from '../../src/training/rl-config.ts'
import { checkRlData, checkRlFile, readRlRows, toRlRows } from '../../src/training/rl-dataset.ts'
import type { PackedRow } from '../../src/training/rows.ts'
import { createFakeRenderer, decode, encode, TURN_END } from './fake-renderer.ts'

const config: RlConfig = toRlConfig({}, 1e-5)
const user = { role: 'user', content: 'hi' }

interface ChoiceOptions {
  ids?: number[] | null
  logprob?: number | null
  extra?: object
}

/** A choice as a client keeps it, whose tokens are the text's bytes and the end of the turn. */
function choice(text: string, { ids = [...encode(text), TURN_END], logprob = -0.5, extra = {} }: ChoiceOptions = {}) {
  const tokens = [...text, '<|im_end|>'].map(token => ({
    token,
    bytes: [...Buffer.from(token)],
    logprob,
    top_logprobs: [],
  }))
  return {
    finish_reason: 'stop',
    index: 0,
    logprobs: { content: tokens, refusal: null },
    message: { role: 'assistant', content: text, refusal: null, tool_calls: [], function_call: null, audio: null },
    token_ids: ids,
    ...extra,
  }
}

function trajectory(reward: number | undefined, elements: unknown[], extra: object = {}) {
  return { messages_and_choices: elements, ...(reward === undefined ? {} : { reward }), ...extra }
}

function body(...groups: unknown[][]) {
  return { trajectory_groups: groups.map(trajectories => ({ trajectories })) }
}

/** The text of each sequence with its trained part in brackets, `|` around log-probabilities left out. */
function describeSequences(rows: PackedRow[]): string[] {
  return rows.flatMap(row => {
    const texts: string[] = []
    row.sequence.forEach((number, i) => {
      if (number < 0) return
      const trained = i > 0 && row.weight[i - 1]! > 0
      texts[number] = `${texts[number] ?? ''}${trained ? `[${decode([row.ids[i]!])}]` : decode([row.ids[i]!])}`
    })
    return texts.map(text => text.replaceAll('][', ''))
  })
}

/** Advantage and weight of each sequence's trained tokens. */
function describeScales(
  rows: PackedRow[],
): { weight: number; advantage: number; tokens: number; oldLogprob: number }[] {
  return rows.flatMap(row => {
    const scales: ReturnType<typeof describeScales> = []
    row.sequence.forEach((number, i) => {
      if (!(row.weight[i]! > 0)) return
      scales[number] ??= {
        weight: row.weight[i]!,
        advantage: row.advantage[i]!,
        tokens: 0,
        oldLogprob: row.oldLogprob[i]!,
      }
      scales[number].tokens++
    })
    return scales
  })
}

function catchDataError(run: () => unknown): DataError {
  try {
    run()
  } catch (error) {
    if (error instanceof DataError) return error
    throw error
  }
  throw new Error('expected a DataError')
}

describe('toRlRows', () => {
  test('trains the sampled tokens after the prompt they were sampled from', () => {
    const data = body([trajectory(1, [user, choice('ok')]), trajectory(0, [user, choice('no!')])])
    const { rows, summary } = toRlRows(data, createFakeRenderer(), config, 1)
    expect(describeSequences(rows)).toEqual(['<user\nhi>\n<assistant\n[ok>]', '<user\nhi>\n<assistant\n[no!>]'])
    // 3 and 4 tokens: weights 1/3 and 1/4 have mean 2/7, and |advantage| * weight then has mean 1.
    expect(describeScales(rows)).toEqual([
      { weight: expect.closeTo(7 / 6, 5), advantage: expect.closeTo(1, 5), tokens: 3, oldLogprob: -0.5 },
      { weight: expect.closeTo(7 / 8, 5), advantage: expect.closeTo(-1, 5), tokens: 4, oldLogprob: -0.5 },
    ])
    expect(summary).toEqual({
      num_sequences: 1,
      num_groups_submitted: 1,
      num_groups_trainable: 1,
      num_groups_skipped: 0,
      num_trajectories: 2,
      num_trainable_tokens: 7,
      num_truncated_sequences: 0,
      num_truncated_tokens: 0,
      reward: 0.5,
      reward_std_dev: 0.5,
      exception_rate: 0,
    })
  })

  test.each([
    ['written as token_id:<n>', choice('ok', { ids: null }), 'token_id'],
    ['their bytes', choice('ok', { ids: null }), 'bytes'],
    ['their text', choice('ok', { ids: null }), 'text'],
  ])('finds the ids of tokens from %s', (_, sampled, kind) => {
    const ids = [...encode('ok'), TURN_END]
    sampled.logprobs.content = sampled.logprobs.content.map((entry, i) => {
      if (kind === 'token_id') return { ...entry, token: `token_id:${ids[i]}`, bytes: [0] }
      return kind === 'text' ? { token: entry.token, logprob: -0.5 } : { ...entry, token: '\ufffd' }
    }) as typeof sampled.logprobs.content
    const { rows } = toRlRows(
      body([trajectory(1, [user, sampled]), trajectory(0, [user])]),
      createFakeRenderer(),
      config,
      1,
    )
    expect(describeSequences(rows)).toEqual(['<user\nhi>\n<assistant\n[ok>]'])
  })

  test('keeps the ids that were sampled where the text would be encoded otherwise', () => {
    const odd = choice('ok', { ids: [7, 8, TURN_END] })
    const { rows } = toRlRows(
      body([trajectory(1, [user, odd]), trajectory(0, [user])]),
      createFakeRenderer(),
      config,
      1,
    )
    expect(describeSequences(rows)).toEqual(['<user\nhi>\n<assistant\n[\u0007\u0008>]'])
  })

  test('trains the refusal list where there is no content list', () => {
    const refusing = choice('no')
    const logprobs = { content: null, refusal: refusing.logprobs.content }
    const data = body([trajectory(1, [user, { ...refusing, logprobs }]), trajectory(0, [user])])
    expect(describeSequences(toRlRows(data, createFakeRenderer(), config, 1).rows)).toEqual([
      '<user\nhi>\n<assistant\n[no>]',
    ])
  })

  test('goes on in one sequence while each prompt extends the last, and cuts after the last choice', () => {
    const elements = [
      user,
      choice('a'),
      { role: 'user', content: 'more' },
      { role: 'assistant', content: 'plain' },
      { role: 'user', content: 'and' },
      choice('b'),
      { role: 'user', content: 'never seen' },
      { role: 'assistant', content: 'nor this' },
    ]
    const { rows } = toRlRows(body([trajectory(1, elements), trajectory(0, [user])]), createFakeRenderer(), config, 1)
    expect(describeSequences(rows)).toEqual([
      '<user\nhi>\n<assistant\n[a>]\n<user\nmore>\n<assistant\nplain>\n<user\nand>\n<assistant\n[b>]',
    ])
  })

  test('starts a new sequence where the next prompt does not hold the sampled tokens', () => {
    // Sampled as another tokenisation of the same text: the next prompt encodes the text anew.
    const elements = [user, choice('a', { ids: [7, TURN_END] }), { role: 'user', content: 'more' }, choice('b')]
    const { rows } = toRlRows(body([trajectory(1, elements), trajectory(0, [user])]), createFakeRenderer(), config, 1)
    expect(describeSequences(rows)).toEqual([
      '<user\nhi>\n<assistant\n[\u0007>]',
      '<user\nhi>\n<assistant\na>\n<user\nmore>\n<assistant\n[b>]',
    ])
  })

  test('trains additional histories with the same advantage and a weight over all of them', () => {
    const additional_histories = [{ messages_and_choices: [{ role: 'user', content: 'sub' }, choice('xyz')] }]
    const data = body([
      trajectory(1, [user, choice('o')], { additional_histories }),
      trajectory(0, [user, choice('a')]),
    ])
    const { rows, summary } = toRlRows(data, createFakeRenderer(), config, 1)
    expect(describeSequences(rows).slice(0, 2)).toEqual([
      '<user\nhi>\n<assistant\n[o>]',
      '<user\nsub>\n<assistant\n[xyz>]',
    ])
    const [own, additional, other] = describeScales(rows)
    expect(own!.weight).toBe(additional!.weight)
    expect(own!.advantage).toBe(additional!.advantage)
    // 2 + 4 tokens against 2.
    expect(other!.weight / own!.weight).toBeCloseTo(3, 5)
    expect(rows[0]!.trajectories).toBe(2)
    expect(summary.num_trajectories).toBe(2)
  })

  test('renders the tools of each history', () => {
    const renderer = createFakeRenderer()
    const tools = [{ type: 'function', function: { name: 'add', parameters: {} } }]
    const additional_histories = [{ messages_and_choices: [user, choice('b')], tools: [] }]
    const data = body([trajectory(1, [user, choice('a')], { tools, additional_histories }), trajectory(0, [user])])
    toRlRows(data, renderer, config, 1)
    expect(renderer.prompts.map(prompt => prompt.tools)).toEqual([tools, null])
  })

  test('shows the template messages without the nulls and empty lists that clients add', () => {
    const renderer = createFakeRenderer()
    const tool_calls = [{ id: '1', type: 'function', function: { name: 'add', arguments: '{}' } }]
    const calling = { role: 'assistant', content: null, tool_calls, refusal: null }
    const result = { role: 'tool', content: [{ type: 'text', text: '3' }], tool_call_id: '1' }
    const elements = [
      user,
      choice('a'),
      { role: 'assistant', content: 'x', tool_calls: [] },
      calling,
      result,
      choice('b'),
    ]
    toRlRows(body([trajectory(1, elements), trajectory(0, [user])]), renderer, config, 1)
    expect(renderer.prompts.at(-1)!.messages).toEqual([
      user,
      { role: 'assistant', content: 'a' },
      { role: 'assistant', content: 'x' },
      { role: 'assistant', content: null, tool_calls },
      result,
    ])
  })

  test('trains nothing of plain messages and of choices without log-probabilities', () => {
    const silent = [{ logprobs: null }, { logprobs: { content: [], refusal: null } }, { logprobs: undefined }]
    const elements = silent.flatMap(extra => [user, choice('a', { extra })])
    const data = body([trajectory(1, [...elements, user, { role: 'assistant', content: 'b' }]), trajectory(0, [user])])
    const { rows, summary } = toRlRows(data, createFakeRenderer(), config, 1)
    expect(rows).toEqual([])
    expect(summary).toMatchObject({ num_sequences: 0, num_groups_trainable: 1, num_groups_skipped: 1 })
  })

  test('skips groups whose rewards are equal and never renders them', () => {
    const renderer = createFakeRenderer()
    const data = {
      trajectory_groups: [
        { trajectories: [trajectory(0.1, [user, choice('a')]), trajectory(0.1, [user, choice('b')])] },
        { trajectories: [trajectory(5, [user, choice('c')])] },
        { trajectories: [], exceptions: [{ type: 'Error', message: 'boom', traceback: '' }], metadata: {} },
        { trajectories: null },
      ],
    }
    const { rows, summary } = toRlRows(data, renderer, config, 1)
    expect(rows).toEqual([])
    expect(renderer.prompts).toEqual([])
    expect(summary).toMatchObject({
      num_sequences: 0,
      num_groups_submitted: 4,
      num_groups_trainable: 0,
      num_groups_skipped: 4,
      num_trajectories: 3,
      exception_rate: 0.25,
    })
    expect(Object.values(summary).every(Number.isFinite)).toBe(true)
  })

  test('takes a missing or null reward as 0', () => {
    const data = body([
      trajectory(undefined, [user, choice('a')]),
      { ...trajectory(1, [user, choice('b')]), reward: null },
      trajectory(3, [user, choice('c')]),
    ])
    expect(toRlRows(data, createFakeRenderer(), config, 1).summary.reward).toBe(1)
  })

  test('drops a trajectory at the mean but keeps one that the balance silences', () => {
    const trajectories = [-1, 0, 1].map(reward => trajectory(reward, [user, choice('a')]))
    const { rows } = toRlRows(body(trajectories), createFakeRenderer(), { ...config, advantageBalance: 1 }, 1)
    expect(describeScales(rows).map(({ advantage }) => advantage)).toEqual([-0, expect.closeTo(2, 5)])
  })

  test.each([null, undefined, -9999, -12_000])('marks the log-probability %j as missing', logprob => {
    const sampled = choice('a', logprob === undefined ? {} : { logprob })
    if (logprob === undefined) for (const entry of sampled.logprobs.content) Reflect.deleteProperty(entry, 'logprob')
    const { rows } = toRlRows(
      body([trajectory(1, [user, sampled]), trajectory(0, [user])]),
      createFakeRenderer(),
      config,
      1,
    )
    expect(describeScales(rows)[0]!.oldLogprob).toBeNaN()
  })

  test('cuts sequences at the context and counts what is lost', () => {
    // The prompt is 21 tokens, the completions 11 and 1: of the first, 4 stay.
    const data = body([
      trajectory(1, [user, choice('0123456789')]),
      trajectory(0, [user, choice('')]),
      trajectory(0, [{ role: 'user', content: 'much longer' }, choice('')]),
    ])
    const { rows, summary } = toRlRows(data, createFakeRenderer({ contextLength: 25 }), config, 1)
    expect(describeSequences(rows)).toEqual(['<user\nhi>\n<assistant\n[0123]', '<user\nhi>\n<assistant\n[>]'])
    expect(summary).toMatchObject({ num_trainable_tokens: 5, num_truncated_sequences: 2, num_truncated_tokens: 13 })
    const [long, short] = describeScales(rows)
    expect(short!.weight / long!.weight).toBeCloseTo(11, 3)
  })

  test('renders a prompt that a group shares only once', () => {
    const renderer = createFakeRenderer()
    toRlRows(body([0, 1, 2, 3].map(reward => trajectory(reward, [user, choice('a')]))), renderer, config, 1)
    expect(renderer.prompts).toHaveLength(1)
  })

  test('gives the same rows for the same seed and another order for another', () => {
    const group = Array.from({ length: 200 }, (_, i) => trajectory(i, [user, choice(`${i}`)]))
    const first = (seed: number) => toRlRows(body(group), createFakeRenderer(), config, seed).rows
    expect(first(1).length).toBeGreaterThan(5)
    expect(first(1)).toEqual(first(1))
    expect(first(1)).not.toEqual(first(2))
  })
})

const HERE = ['trajectory_groups', '0', 'trajectories', '0', 'messages_and_choices']
const ENTRIES = [...HERE, '1', 'logprobs', 'content']

describe('bad RL data', () => {
  const entry = { token: 'a', logprob: -1, bytes: [97] }
  const withEntries = (content: unknown[], extra: object = {}) =>
    body([
      trajectory(1, [user, choice('a', { ids: null, extra: { logprobs: { content }, ...extra } })]),
      trajectory(0, []),
    ])

  test.each<[string, unknown, string[]]>([
    ['no object', [], []],
    ['no groups', {}, ['trajectory_groups']],
    ['group of another kind', { trajectory_groups: [3] }, ['trajectory_groups', '0']],
    [
      'trajectories of another kind',
      { trajectory_groups: [{ trajectories: {} }] },
      ['trajectory_groups', '0', 'trajectories'],
    ],
    ['text reward', body([trajectory('1' as never, [])]), [...HERE.slice(0, 4), 'reward']],
    ['messages of another kind', body([{ messages_and_choices: 'hi' }]), HERE],
    ['message without role', body([trajectory(1, [{ content: 'hi' }])]), [...HERE, '0', 'role']],
    ['number as content', body([trajectory(1, [{ role: 'user', content: 3 }])]), [...HERE, '0', 'content']],
    [
      'choice without role in its message',
      body([trajectory(1, [user, { message: {} }])]),
      [...HERE, '1', 'message', 'role'],
    ],
    ['tool of another kind', body([trajectory(1, [], { tools: ['add'] })]), [...HERE.slice(0, 4), 'tools', '0']],
    [
      'bad additional history',
      body([trajectory(1, [], { additional_histories: [{ messages_and_choices: [1] }] })]),
      [...HERE.slice(0, 4), 'additional_histories', '0', 'messages_and_choices', '0'],
    ],
    ['choice before any message', body([trajectory(1, [choice('a')])]), [...HERE, '0']],
    [
      'more ids than log-probabilities',
      body([trajectory(1, [user, choice('a', { ids: [1, 2, 3] })])]),
      [...HERE, '1', 'token_ids'],
    ],
    [
      'fewer ids than log-probabilities',
      body([trajectory(1, [user, choice('a', { ids: [] })])]),
      [...HERE, '1', 'token_ids'],
    ],
    ['id below 0', body([trajectory(1, [user, choice('a', { ids: [1, -2] })])]), [...HERE, '1', 'token_ids', '1']],
    [
      'id out of the vocabulary',
      body([trajectory(1, [user, choice('a', { ids: [258, 0] })])]),
      [...HERE, '1', 'token_ids', '0'],
    ],
    [
      'written id out of the vocabulary',
      withEntries([{ ...entry, token: 'token_id:258' }]),
      [...ENTRIES, '0', 'token'],
    ],
    [
      'token that the model does not have',
      withEntries([entry, { token: 'long', logprob: -1 }]),
      [...ENTRIES, '1', 'token'],
    ],
    ['token that is no text', withEntries([{ logprob: -1 }]), [...ENTRIES, '0', 'token']],
    ['byte above 255', withEntries([{ ...entry, bytes: [256] }]), [...ENTRIES, '0', 'bytes', '0']],
    ['text log-probability', withEntries([{ ...entry, logprob: '-1' }]), [...ENTRIES, '0', 'logprob']],
    ['positive log-probability', withEntries([{ ...entry, logprob: 0.1 }]), [...ENTRIES, '0', 'logprob']],
    [
      'role that the template refuses',
      body([trajectory(1, [{ role: 'forbidden' }, choice('a')]), trajectory(0, [])]),
      [...HERE, '0', 'role'],
    ],
  ])('%s', (_, data, loc) => {
    const found = catchDataError(() => checkRlData(data, createFakeRenderer()))
    expect(found.loc).toEqual(loc)
    expect(found.message).not.toBe('')
    expect(catchDataError(() => toRlRows(data, createFakeRenderer(), config, 1)).loc).toEqual(loc)
  })

  test('what needs the model is only found with a renderer', () => {
    expect(checkRlData(withEntries([{ ...entry, token: 'token_id:258' }]))).toBe(2)
    expect(() => checkRlData(body([trajectory(1, [user, choice('a', { ids: [1] })])]))).toThrow(DataError)
  })

  test('names both counts when tokens and log-probabilities differ', () => {
    const data = body([trajectory(1, [user, choice('ab', { ids: [1, 2] })])])
    expect(catchDataError(() => checkRlData(data)).message).toContain('2 entries, logprobs.content has 3')
  })

  test('reads the body from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trainyard-rl-'))
    try {
      const file = join(folder, 'body.json')
      await writeFile(
        file,
        JSON.stringify(body([trajectory(1, [user, choice('a')]), trajectory(0, [user, choice('b')])])),
      )
      expect((await readRlRows(file, createFakeRenderer(), config, 1)).rows).toHaveLength(1)
      expect(await checkRlFile(file, createFakeRenderer())).toBe(2)
      await writeFile(file, '{"trajectory_groups"')
      await expect(checkRlFile(file)).rejects.toThrow(DataError)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
