/** From messages to tokens: a model folder's chat template and tokenizer. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Template } from '@huggingface/jinja'
import { Tokenizer } from '@huggingface/tokenizers'
import { type Prompt, PromptError, type PromptMessage } from '../inference/engine.ts'
import type { Renderer } from '../training/rows.ts'
import { readModelConfig } from './model-config.ts'
import { readJson, readJsonIfThere, type SpecialToken, specialTokenText, TokenTable } from './token-table.ts'

interface TokenizerConfig {
  chat_template?: string | { name: string; template: string }[]
  bos_token?: SpecialToken
  eos_token?: SpecialToken
  pad_token?: SpecialToken
  unk_token?: SpecialToken
}

/** Name of the template that models with several keep for requests with tools. */
const TOOL_TEMPLATE = 'tool_use'
const DEFAULT_TEMPLATE = 'default'

export class ChatRenderer implements Renderer {
  readonly contextLength: number
  readonly vocabularySize: number
  readonly tokens: TokenTable
  readonly #tokenizer: Tokenizer
  readonly #templates: Map<string, Template>
  readonly #specialTokens: Record<string, string>

  /** Reads tokenizer.json, tokenizer_config.json and chat_template.jinja. Throws an Error naming what is at fault. */
  constructor(folder: string) {
    const config = readJsonIfThere<TokenizerConfig>(join(folder, 'tokenizer_config.json')) ?? {}
    this.#tokenizer = new Tokenizer(readJson<object>(join(folder, 'tokenizer.json')), config)
    this.tokens = new TokenTable(folder)
    this.#templates = readTemplates(folder, config)
    const { bos_token, eos_token, pad_token, unk_token } = config
    const specialTokens = Object.entries({ bos_token, eos_token, pad_token, unk_token })
    this.#specialTokens = Object.fromEntries(
      specialTokens.flatMap(([name, token]) => (token ? [[name, specialTokenText(token)]] : [])),
    )
    const model = readModelConfig(folder)
    this.contextLength = model.contextLength
    this.vocabularySize = model.vocabularySize
  }

  get endOfTurnIds(): readonly number[] {
    return this.tokens.eosIds
  }

  /** The prompt's tokens. Throws PromptError where a message cannot be rendered. */
  render(prompt: Prompt): number[] {
    const text = this.renderText(prompt)
    return this.#tokenizer.encode(text, { add_special_tokens: prompt.addSpecialTokens }).ids
  }

  /** The prompt as the template writes it. Throws PromptError. */
  renderText(prompt: Prompt): string {
    const { tools, addGenerationPrompt, continueFinalMessage, chatTemplate, templateVariables } = prompt
    const messages = prompt.messages.map(toTemplateMessage)
    const template = chatTemplate === null ? this.#template(tools) : parseTemplate(chatTemplate)
    let text: string
    try {
      text = template.render({
        ...this.#specialTokens,
        ...templateVariables,
        messages,
        tools,
        add_generation_prompt: addGenerationPrompt,
      })
    } catch (error) {
      throw new PromptError(
        placeOfTemplate(chatTemplate),
        `the chat template refused: ${(error as Error).message}`,
        'template_error',
      )
    }
    return continueFinalMessage ? cutAfterFinalMessage(text, prompt.messages.length - 1, messages.at(-1)) : text
  }

  /** Tokens of a text as it stands; the text of a special token gives that token. */
  encode(text: string): number[] {
    return this.#tokenizer.encode(text, { add_special_tokens: false }).ids
  }

  decode(ids: readonly number[], options: { skipSpecial: boolean }): string {
    return this.tokens.decode(ids, options)
  }

  tokenId(bytes: readonly number[]): number | null {
    return this.tokens.tokenId(bytes)
  }

  #template(tools: unknown[] | null): Template {
    const template = (tools && this.#templates.get(TOOL_TEMPLATE)) ?? this.#templates.get(DEFAULT_TEMPLATE)
    if (!template) throw new PromptError(['messages'], 'this base model has no chat template', 'template_missing')
    return template
  }
}

function parseTemplate(text: string): Template {
  try {
    return new Template(text)
  } catch (error) {
    const message = `the chat template cannot be read: ${(error as Error).message}`
    throw new PromptError(placeOfTemplate(text), message, 'template_error')
  }
}

/** Where a fault of the template is to be looked for: in the request's own one, or in what the model's was given. */
export function placeOfTemplate(chatTemplate: string | null): string[] {
  return [chatTemplate === null ? 'messages' : 'chat_template']
}

function readTemplates(folder: string, config: TokenizerConfig): Map<string, Template> {
  const path = join(folder, 'chat_template.jinja')
  const stored = existsSync(path) ? readFileSync(path, 'utf8') : (config.chat_template ?? [])
  const list = typeof stored === 'string' ? [{ name: DEFAULT_TEMPLATE, template: stored }] : stored
  return new Map(list.map(({ name, template }) => [name, new Template(template)]))
}

/** Templates expect text and, for tool calls, arguments as objects; the wire has parts and JSON text. */
function toTemplateMessage(message: PromptMessage, index: number): PromptMessage {
  const content = toText(message.content, ['messages', String(index), 'content'])
  if (!message.tool_calls) return { ...message, content }
  return { ...message, content, tool_calls: message.tool_calls.map(toTemplateToolCall) }
}

function toText(content: PromptMessage['content'], loc: string[]): string {
  if (typeof content === 'string') return content
  const parts = (content ?? []).map((part, index) => {
    if ((part.type === 'text' || part.type === undefined) && typeof part.text === 'string') return part.text
    const place = [...loc, String(index)]
    throw new PromptError(place, `a part of type ${part.type} is not supported: this model takes text`, 'content_type')
  })
  return parts.join('\n')
}

function toTemplateToolCall(call: unknown): unknown {
  const { function: called, ...rest } = (call ?? {}) as { function?: { arguments?: unknown } }
  if (typeof called?.arguments !== 'string') return call
  try {
    return { ...rest, function: { ...called, arguments: JSON.parse(called.arguments) } }
  } catch {
    return call
  }
}

/** Drops what the template writes after the final message, so that the model goes on within it. */
function cutAfterFinalMessage(text: string, index: number, message: PromptMessage | undefined): string {
  const content = typeof message?.content === 'string' ? message.content : ''
  const trimmed = content.trim()
  const start = trimmed === '' ? -1 : text.lastIndexOf(trimmed)
  if (start === -1) {
    const loc = ['messages', String(index), 'content']
    throw new PromptError(loc, 'the final message has no text that could be continued', 'continue_final_message')
  }
  // templates may trim the message; spaces at its end stay where the template kept them
  const ending = content.trimStart()
  return text.slice(0, start + (text.startsWith(ending, start) ? ending.length : trimmed.length))
}
