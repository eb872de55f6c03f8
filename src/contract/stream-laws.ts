/** The laws of streamed chats, on every stream that was read to its end. */
import { operationById } from '../spec/document.ts'
import { DONE, type Violation } from './conform.ts'
import { type Json, toBreach } from './law-breach.ts'
import { parseSse } from './sse-events.ts'

const SOURCE = `${operationById('createChatCompletion').pointer}/description#The stream`
const CONSTANT = ['id', 'created', 'model'] as const

/** Of a stream that ends with an error nothing more is asked. */
export function checkStream(text: string): Violation[] {
  const chunks = toChunks(text)
  if (chunks.some(chunk => 'error' in chunk)) return []
  const found: Violation[] = []
  const demand = (holds: boolean, message: string) => {
    if (!holds) found.push(toBreach(SOURCE, message))
  }
  for (const key of CONSTANT)
    demand(new Set(chunks.map(chunk => chunk[key])).size < 2, `${key} is not the same in all chunks`)
  const withoutChoices = chunks.filter(({ choices }) => Array.isArray(choices) && choices.length === 0)
  demand(withoutChoices.length < 2, 'two chunks have no choices')
  demand(
    withoutChoices.every(chunk => chunk === chunks.at(-1)),
    'chunks come behind the one with no choices',
  )
  const byIndex = Map.groupBy(chunks.flatMap(choicesOf), ({ index }) => index)
  for (const [index, pieces] of byIndex) {
    const roles = pieces.filter(({ delta }) => typeof (delta as Json | null)?.role === 'string')
    demand(roles.length === 1 && roles[0] === pieces[0], `choice ${index} does not begin with its role, once`)
    const ends = pieces.filter(({ finish_reason }) => typeof finish_reason === 'string')
    demand(ends.length === 1 && ends[0] === pieces.at(-1), `choice ${index} does not end with its finish_reason, once`)
  }
  return found
}

function choicesOf({ choices }: Json): Json[] {
  return Array.isArray(choices) ? choices.filter(one => typeof one === 'object' && one !== null) : []
}

/** What is no JSON object is judged by the schema of an event. */
function toChunks(text: string): Json[] {
  return parseSse(text).events.flatMap(({ data }) => {
    if (data === DONE || !data.startsWith('{')) return []
    try {
      return [JSON.parse(data) as Json]
    } catch {
      return []
    }
  })
}
