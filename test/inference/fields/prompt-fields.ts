import { expect } from 'vitest'
import { faultOf, messages, read } from '../chat-wire.ts'
import { changes, type FieldTest } from './field-test.ts'

const tools = [{ type: 'function', function: { name: 'add' } }]
const trusting = { trustRequestChatTemplate: true }

export const promptFields: FieldTest[] = [
  {
    field: 'messages',
    does: 'all come to the template in order',
    check() {
      const both = [...messages, { role: 'critic', content: 'why?', name: 'x' }]
      expect(read({ messages: both }).prompt.messages).toEqual(both)
    },
  },
  changes('tools', tools, task => task.prompt.tools, tools),
  {
    field: 'tool_choice',
    does: 'none leaves the tools for the template to show',
    check: () => expect(read({ tools, tool_choice: 'none' })).toEqual(read({ tools })),
  },
  {
    field: 'parallel_tool_calls',
    does: 'is accepted, and changes nothing where no calls are made',
    check() {
      for (const value of [true, false, null]) expect(read({ parallel_tool_calls: value })).toEqual(read({}))
    },
  },
  changes('reasoning_effort', 'low', task => task.prompt.templateVariables, { reasoning_effort: 'low' }),
  changes('include_reasoning', false, task => task.prompt.templateVariables, { include_reasoning: false }),
  changes('documents', [{ text: 'a' }], task => task.prompt.templateVariables, { documents: [{ text: 'a' }] }),
  changes('chat_template_kwargs', { enable_thinking: false }, task => task.prompt.templateVariables, {
    enable_thinking: false,
  }),
  {
    field: 'chat_template_kwargs',
    does: 'yields to the fields that name the same variable',
    check() {
      const chat_template_kwargs = { reasoning_effort: 'high', documents: [], other: 1 }
      const { templateVariables } = read({ chat_template_kwargs, reasoning_effort: 'low' }).prompt
      expect(templateVariables).toEqual({ reasoning_effort: 'low', documents: [], other: 1 })
    },
  },
  {
    field: 'chat_template_kwargs',
    does: 'holds a template only where the operator trusts requests',
    check() {
      const chat_template_kwargs = { chat_template: '{{ 1 }}' }
      expect(faultOf({ chat_template_kwargs })).toEqual({
        loc: ['body', 'chat_template_kwargs', 'chat_template'],
        type: 'not_trusted',
      })
      const { chatTemplate, templateVariables } = read({ chat_template_kwargs }, { limits: trusting }).prompt
      expect([chatTemplate, templateVariables]).toEqual(['{{ 1 }}', {}])
      expect(read({ chat_template_kwargs, chat_template: 'x' }, { limits: trusting }).prompt.chatTemplate).toBe('x')
    },
  },
  {
    field: 'chat_template',
    does: 'replaces the model’s own where the operator trusts requests, and is a 422 otherwise',
    check() {
      expect(faultOf({ chat_template: '' })).toEqual({ loc: ['body', 'chat_template'], type: 'not_trusted' })
      expect(read({ chat_template: '{{ 1 }}' }, { limits: trusting }).prompt.chatTemplate).toBe('{{ 1 }}')
      expect(read({ chat_template: null }).prompt.chatTemplate).toBeNull()
    },
  },
  changes('add_generation_prompt', false, task => [task.prompt.addGenerationPrompt, task.options.role], [
    false,
    'user',
  ]),
  changes('continue_final_message', true, ({ prompt }) => [prompt.continueFinalMessage, prompt.addGenerationPrompt], [
    true,
    false,
  ]),
  {
    field: 'continue_final_message',
    does: 'gives the reply the role of the message that goes on',
    check() {
      const open = [...messages, { role: 'critic', content: 'I' }]
      expect(read({ messages: open, continue_final_message: true }).options.role).toBe('critic')
      expect(read({ messages: open }).options.role).toBe('assistant')
    },
  },
  changes('add_special_tokens', true, task => task.prompt.addSpecialTokens, true),
  changes('truncate_prompt_tokens', 5, task => task.prompt.truncateTokens, 5),
  changes('truncate_prompt_tokens', -1, task => task.prompt.truncateTokens, -1),
  {
    field: 'echo',
    does: 'begins with the last message where its role is that of the reply, and asks for the prompt’s log-probabilities',
    check() {
      const open = [...messages, { role: 'assistant', content: ['a', { text: 'b' }] }]
      expect(read({ messages: open, echo: true }).options.echo).toBe('a\nb')
      expect(read({ messages: open }).options.echo).toBe('')
      expect(read({ echo: true }).options.echo).toBe('')
      expect(read({ echo: true, add_generation_prompt: false }).options.echo).toBe('hi')
      const ofPrompt = (fields: object) => read({ echo: true, ...fields }).sampling.promptLogprobs
      expect(ofPrompt({})).toBe(0)
      expect(ofPrompt({ logprobs: true, top_logprobs: 3 })).toBe(3)
      expect(ofPrompt({ logprobs: true, top_logprobs: 3, prompt_logprobs: 1 })).toBe(1)
      expect(ofPrompt({ stream: true })).toBeNull()
    },
  },
  {
    field: 'user',
    does: 'is accepted and changes nothing',
    check: () => expect(read({ user: 'ada' })).toEqual(read({})),
  },
  ...[
    ['mm_processor_kwargs', 'num_crops'],
    ['kv_transfer_params', 'remote_host'],
    ['engine_xargs', 'speed'],
  ].map(([field, name]) => ({
    field: field!,
    does: 'is a 422 that names what is in it, unless there is nothing in it',
    check() {
      expect(faultOf({ [field!]: { [name!]: 4 } })).toEqual({ loc: ['body', field, name], type: 'not_supported' })
      for (const none of [{}, null]) expect(read({ [field!]: none })).toEqual(read({}))
    },
  })),
]
