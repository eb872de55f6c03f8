import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { PromptMessage } from '../../src/inference/engine.ts'
import { ChatRenderer } from '../../src/onnx/chat-renderer.ts'
import { fixtures } from './golden.ts'
import { promptOf } from './plain-request.ts'

const folder = join(fixtures, 'tiny-llama')
const renderer = new ChatRenderer(folder)
const copies: string[] = []
afterAll(() => {
  for (const copy of copies) rmSync(copy, { recursive: true })
})

/** A copy of the model's folder in which these files are others. */
function copyWith(files: Record<string, string>): string {
  const copy = mkdtempSync(join(tmpdir(), 'trainyard-'))
  copies.push(copy)
  cpSync(folder, copy, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(copy, name), text)
  return copy
}

const user = (content: PromptMessage['content']) => ({ role: 'user', content })
const catchError = (work: () => unknown) => {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('rendering', () => {
  test('gives the tokens that transformers gives', () => {
    // apply_chat_template([{"role": "user", "content": "hello Ünï 🙂"}], add_generation_prompt=True)
    const expected = [
      1, 120, 118, 104, 117, 13, 261, 114, 35, 198, 159, 113, 198, 178, 35, 243, 162, 156, 133, 2, 13, 1, 100, 118, 118,
      108, 118, 119, 100, 113, 119, 13,
    ]
    expect(renderer.render(promptOf([user('hello Ünï 🙂')]))).toEqual(expected)
    expect(renderer.decode(expected, { skipSpecial: true })).toBe('user\nhello Ünï 🙂\nassistant\n')
    expect(renderer.decode(expected.slice(0, 2), { skipSpecial: false })).toBe('<|im_start|>u')
  })

  test('without generation prompt ends after the last message', () => {
    const text = renderer.renderText(promptOf([user('a')], { addGenerationPrompt: false }))
    expect(text).toBe('<|im_start|>user\na<|im_end|>\n')
  })

  test('joins the text parts of a message', () => {
    const parts = [{ type: 'text', text: 'a' }, { text: 'b' }]
    expect(renderer.renderText(promptOf([user(parts)]))).toContain('user\na\nb<|im_end|>')
  })

  test('hands over tools, tool calls with arguments as objects, and template variables', () => {
    const call = { id: '1', type: 'function', function: { name: 'weather', arguments: '{"city": "Oslo"}' } }
    const messages = [user('a'), { role: 'assistant', content: null, tool_calls: [call] }]
    const tools = [{ type: 'function', function: { name: 'weather' } }]
    const text = renderer.renderText(promptOf(messages, { tools, templateVariables: { greeting: 'hey' } }))
    expect(text).toMatch(/^<\|im_start\|>system\n\[.*"weather".*\]<\|im_end\|>/)
    expect(text).toContain('<call>Oslo</call>')
    expect(text).toMatch(/assistant\nhey$/)
  })

  test.each(['Sure, ', ' trimmed by nobody ', 'a'])('continues the final message %j', content => {
    const messages = [user('a'), { role: 'assistant', content }]
    const changes = { addGenerationPrompt: false, continueFinalMessage: true }
    expect(renderer.renderText(promptOf(messages, changes))).toMatch(new RegExp(`assistant\n${content}$`))
  })
})

describe('a template of the request', () => {
  test("takes the place of the model's own", () => {
    const chatTemplate = '{{ messages[0].content }}{% if shout %}!{% endif %}'
    const changes = { chatTemplate, templateVariables: { shout: true } }
    expect(renderer.renderText(promptOf([user('a')], changes))).toBe('a!')
  })

  test.each(['{% if %}', '{{ raise_exception("no") }}'])('that is at fault is named: %s', chatTemplate => {
    const error = catchError(() => renderer.render(promptOf([user('a')], { chatTemplate })))
    expect(error).toMatchObject({ name: 'PromptError', loc: ['chat_template'], type: 'template_error' })
  })
})

test("special tokens come on top of the template's where asked for", () => {
  const json = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'))
  const post_processor = {
    type: 'TemplateProcessing',
    single: [{ SpecialToken: { id: '<|endoftext|>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
    pair: [],
    special_tokens: { '<|endoftext|>': { id: '<|endoftext|>', ids: [0], tokens: ['<|endoftext|>'] } },
  }
  const other = new ChatRenderer(copyWith({ 'tokenizer.json': JSON.stringify({ ...json, post_processor }) }))
  const plain = other.render(promptOf([user('a')]))
  expect(plain).toEqual(renderer.render(promptOf([user('a')])))
  expect(other.render(promptOf([user('a')], { addSpecialTokens: true }))).toEqual([0, ...plain])
})

describe('refusals name the place', () => {
  test('a part that is not text', () => {
    const prompt = promptOf([user('a'), user([{ type: 'text', text: 'b' }, { type: 'image_url' }])])
    expect(catchError(() => renderer.render(prompt))).toMatchObject({
      name: 'PromptError',
      loc: ['messages', '1', 'content', '1'],
      message: expect.stringContaining('image_url'),
    })
  })

  test('what the template raises', () => {
    const error = catchError(() => renderer.render(promptOf([{ role: 'reject', content: '' }])))
    expect(error).toMatchObject({
      name: 'PromptError',
      loc: ['messages'],
      message: expect.stringContaining('role reject'),
    })
  })

  test('a template variable that the template language has taken', () => {
    const prompt = promptOf([user('a')], { templateVariables: { range: 1 } })
    expect(catchError(() => renderer.render(prompt))).toMatchObject({ name: 'PromptError' })
  })

  test('a final message without text to continue', () => {
    const prompt = promptOf([user('a'), { role: 'assistant', content: null }], { continueFinalMessage: true })
    expect(catchError(() => renderer.render(prompt))).toMatchObject({ loc: ['messages', '1', 'content'] })
  })

  test('a model without chat template', () => {
    const bare = new ChatRenderer(copyWith({ 'tokenizer_config.json': '{}' }))
    expect(catchError(() => bare.render(promptOf([user('a')])))).toMatchObject({ type: 'template_missing' })
  })
})

describe('the folder', () => {
  test('chat_template.jinja wins over tokenizer_config.json', () => {
    const other = new ChatRenderer(copyWith({ 'chat_template.jinja': '{{ messages[0].content }}{{ eos_token }}' }))
    expect(other.renderText(promptOf([user('a')]))).toBe('a<|im_end|>')
  })

  test('of several templates the one for tools serves requests with tools', () => {
    const config = JSON.parse(readFileSync(join(folder, 'tokenizer_config.json'), 'utf8'))
    const chat_template = [
      { name: 'default', template: 'plain' },
      { name: 'tool_use', template: 'tools' },
    ]
    const other = new ChatRenderer(copyWith({ 'tokenizer_config.json': JSON.stringify({ ...config, chat_template }) }))
    expect(other.renderText(promptOf([user('a')]))).toBe('plain')
    expect(other.renderText(promptOf([user('a')], { tools: [{}] }))).toBe('tools')
  })

  test('names every id that ends a turn', () => {
    expect(renderer.endOfTurnIds).toEqual([2])
    const two = new ChatRenderer(copyWith({ 'generation_config.json': '{"eos_token_id": [0, 2]}' }))
    expect([...two.endOfTurnIds].sort()).toEqual([0, 2])
  })

  test('gives tokens their bytes, and bytes their token', () => {
    const { tokens } = renderer
    expect([...tokens.bytes(261)]).toEqual([...Buffer.from('hell')])
    expect(tokens.text(3 + 0xc3)).toBe('\ufffd')
    expect(renderer.tokenId([0xc3])).toBe(3 + 0xc3)
    expect(renderer.tokenId([...Buffer.from('<|im_end|>')])).toBe(2)
    expect(renderer.tokenId([...Buffer.from('nothing')])).toBeNull()
    // every byte has a token of its own
    const ids = Array.from({ length: 256 }, (_, byte) => renderer.tokenId([byte]))
    expect(new Set(ids).size).toBe(256)
    expect(ids).not.toContain(null)
  })

  test('with a tokenizer that the engine cannot turn back into bytes is refused', () => {
    const json = JSON.parse(readFileSync(join(folder, 'tokenizer.json'), 'utf8'))
    const copy = copyWith({ 'tokenizer.json': JSON.stringify({ ...json, decoder: { type: 'WordPiece' } }) })
    expect(() => new ChatRenderer(copy)).toThrow(/tokenizer\.json: decoder WordPiece is not supported/)
  })
})
