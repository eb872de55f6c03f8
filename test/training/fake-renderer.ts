import { type Prompt, PromptError } from '../../src/inference/engine.ts'
import type { Renderer } from '../../src/training/rows.ts'

/** Ids of the fake vocabulary: one per byte, then the two markers. */
export const TURN_START = 256
export const TURN_END = 257

/** ChatML over single bytes: every token of a text can be counted by hand. */
export function createFakeRenderer(options: { contextLength?: number } = {}): Renderer & { prompts: Prompt[] } {
  const prompts: Prompt[] = []
  return {
    prompts,
    contextLength: options.contextLength ?? 2048,
    vocabularySize: 258,
    endOfTurnIds: [TURN_END],
    render(prompt) {
      prompts.push(prompt)
      const tools = prompt.tools === null ? [] : toTurn('tools', JSON.stringify(prompt.tools))
      const turns = prompt.messages.flatMap((message, i) => {
        if (message.role === 'forbidden')
          throw new PromptError(['messages', String(i), 'role'], 'no such role', 'template')
        const calls = message.tool_calls === undefined ? '' : JSON.stringify(message.tool_calls)
        return toTurn(message.role, `${message.content ?? ''}${calls}`)
      })
      return [...tools, ...turns, ...(prompt.addGenerationPrompt ? [TURN_START, ...encode('assistant\n')] : [])]
    },
    tokenId(bytes) {
      if (Buffer.from(bytes).toString() === '<|im_end|>') return TURN_END
      return bytes.length === 1 ? bytes[0]! : null
    },
  }
}

export function encode(text: string): number[] {
  return [...Buffer.from(text)]
}

export function decode(ids: Iterable<number>): string {
  return [...ids].map(id => (id === TURN_START ? '<' : id === TURN_END ? '>' : String.fromCharCode(id))).join('')
}

function toTurn(role: string, content: string): number[] {
  return [TURN_START, ...encode(`${role}\n${content}`), TURN_END, ...encode('\n')]
}
