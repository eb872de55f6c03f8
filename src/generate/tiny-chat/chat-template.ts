/**
 * The chat template of tiny-chat: ChatML. A developer message is a system message; the first one is joined with the tools,
 * which stand one per line as JSON. Content may be text, parts or null; an assistant's tool calls follow its text.
 */
export const CHAT_TEMPLATE = `
{%- macro text(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content -%}
    {%- for part in content -%}{%- if part.text -%}{{- part.text -}}{%- endif -%}{%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- set leading = messages | length > 0 and messages[0].role in ['system', 'developer'] -%}
{%- if tools -%}
  {{- '<|im_start|>system\\n' -}}
  {%- if leading -%}{{- text(messages[0].content) + '\\n' -}}{%- endif -%}
  {{- 'Tools:' -}}
  {%- for tool in tools -%}{{- '\\n' -}}{{- (tool.function or tool) | tojson -}}{%- endfor -%}
  {{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if not (tools and leading and loop.first) -%}
    {{- '<|im_start|>' + ('system' if message.role == 'developer' else message.role) + '\\n' + text(message.content) -}}
    {%- for call in message.tool_calls or [] -%}
      {%- set function = call.function or call -%}
      {%- if text(message.content) or not loop.first -%}{{- '\\n' -}}{%- endif -%}
      {{- '<tool_call>{"name": ' -}}{{- function.name | tojson -}}{{- ', "arguments": ' -}}
      {%- if function.arguments is string -%}{{- function.arguments -}}{%- else -%}{{- function.arguments | tojson -}}{%- endif -%}
      {{- '}</tool_call>' -}}
    {%- endfor -%}
    {{- '<|im_end|>\\n' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}
`.trim()
