import type { Client } from '../../generated/client.ts'

const MAX_TOKENS = 40
/** Questions under way at once: the engine answers them as one batch. */
const AT_ONCE = 32

/** The model's most probable answer to each question. */
export async function askAll(
  client: Client,
  model: string,
  questions: string[],
  signal?: AbortSignal,
): Promise<string[]> {
  const answers: string[] = []
  for (let start = 0; start < questions.length; start += AT_ONCE) {
    const asked = questions.slice(start, start + AT_ONCE).map(content => ask(client, model, content, signal))
    answers.push(...(await Promise.all(asked)))
  }
  return answers
}

async function ask(client: Client, model: string, content: string, signal?: AbortSignal): Promise<string> {
  const completion = await client.createChatCompletion(
    { model, messages: [{ role: 'user', content }], temperature: 0, max_completion_tokens: MAX_TOKENS },
    { signal },
  )
  return completion.choices[0]!.message.content ?? ''
}
