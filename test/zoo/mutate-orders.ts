/** Mutations of what follows what: items of lists, pages, and events of streams. */
import { type Operation, operations, resolveSchema } from '../../src/spec/document.ts'
import { type Json, replyJson } from './change-replies.ts'
import { requestQuery } from './change-requests.ts'
import { isDone, toEvents } from './change-streams.ts'
import { describe, onlyOf } from './mutate-bodies.ts'
import type { Member } from './zoos.ts'

export function toOrderMutations(): Member[] {
  return operations.filter(isPaged).flatMap(operation => {
    const { operationId } = operation
    const reply = (name: string, change: (body: Json) => Json) => ({
      ...describe(operation, name, 'page'),
      ...replyJson(operationId, change),
    })
    return [
      reply('data reversed', body => withData(body, body.data.toReversed())),
      reply('first item dropped', body => withData(body, body.data.slice(1))),
      reply('last item dropped', body => withData(body, body.data.slice(0, -1))),
      reply('first item twice', body => withData(body, [...body.data.slice(0, 1), ...body.data])),
      reply('has_more flipped', body => ({ ...body, has_more: !body.has_more })),
      reply('has_more false', body => ({ ...body, has_more: false })),
      reply('first_id of the last', body => ({ ...body, first_id: body.last_id })),
      reply('last_id of the first', body => ({ ...body, last_id: body.first_id })),
      {
        ...describe(operation, 'limit ignored', 'page'),
        ...requestQuery(operationId, query => {
          const limit = Number(query.get('limit'))
          if (limit >= 1 && limit < 100) query.set('limit', '100')
        }),
      },
      {
        ...describe(operation, 'limit one more', 'page'),
        ...requestQuery(operationId, query => {
          const limit = Number(query.get('limit'))
          if (limit >= 1 && limit < 100) query.set('limit', String(limit + 1))
        }),
      },
      {
        ...describe(operation, 'desc ignored', 'page'),
        ...requestQuery(operationId, query => {
          if (query.get('order') === 'desc') query.delete('order')
        }),
      },
      toAfterIgnored(operation),
    ]
  })
}

/** The first page again, once for each cursor, so that readers come to an end. */
function toAfterIgnored(operation: Operation): Member {
  return {
    ...describe(operation, 'after ignored', 'page'),
    onRequest(request, { operationId, memory }) {
      const [path, text = ''] = request.path.split('?') as [string, string | undefined]
      const query = new URLSearchParams(text)
      const after = query.get('after')
      if (operationId !== operation.operationId || after === null || memory.has(after)) return request
      memory.set(after, true)
      query.delete('after')
      return { ...request, path: `${path}?${query}` }
    },
  }
}

function isPaged({ responses, components }: Operation): boolean {
  const schema = responses.get(200)?.content.get('application/json')?.schema ?? true
  const form = resolveSchema(schema, components)
  const properties = typeof form === 'object' ? ((form.properties as object | undefined) ?? {}) : {}
  return 'has_more' in properties && 'data' in properties
}

function withData(body: Json, data: Json[]): Json {
  return { ...body, data, first_id: data.at(0)?.id ?? '', last_id: data.at(-1)?.id ?? '' }
}

type Rewrite = (events: string[]) => string[]

/** Numbers of events that are dropped, doubled or moved. */
const PLACES = [0, 1, 2, 4]

export function toStreamMutations(): Member[] {
  const rewrites: [string, Rewrite][] = [
    ...PLACES.flatMap((place): [string, Rewrite][] => [
      [`event ${place} dropped`, events => events.toSpliced(place, isDone(events[place] ?? 'data: [DONE]') ? 0 : 1)],
      [`event ${place} twice`, events => events.toSpliced(place, 0, ...events.slice(place, place + 1))],
      [`events ${place} and ${place + 1} swapped`, events => swap(events, place, place + 1)],
    ]),
    ['end missing', events => events.filter(event => !isDone(event))],
    ['end twice', events => [...events, 'data: [DONE]\n\n']],
    ['end before the last event', events => swap(events, events.length - 2, events.length - 1)],
    ['last event but the end dropped', events => events.toSpliced(-2, 1)],
    ['last event but the end twice', events => events.toSpliced(-2, 0, events.at(-2)!)],
    ['all but the end reversed', events => [...events.slice(0, -1).toReversed(), ...events.slice(-1)]],
    ['blank lines missing', events => events.map(event => event.replace(/\n\n$/, '\n'))],
    ['data without colon', events => events.map(event => event.replace(/^data:/, 'data'))],
  ]
  return operations
    .filter(({ responses }) => responses.get(200)?.content.has('text/event-stream'))
    .flatMap(operation =>
      rewrites.map(([name, rewrite]) => ({
        ...describe(operation, name, 'stream'),
        ...onlyOf(operation, {
          async *onEvents(pieces) {
            const events: string[] = []
            for await (const event of toEvents(pieces)) events.push(event)
            // In pieces, so that nothing but the change can be seen.
            for (const event of rewrite(events)) {
              yield Buffer.from(event)
              await new Promise(resolve => setImmediate(resolve))
            }
          },
        }),
      })),
    )
}

function swap(events: string[], one: number, other: number): string[] {
  if (one < 0 || other >= events.length) return events
  const swapped = [...events]
  swapped[one] = events[other]!
  swapped[other] = events[one]!
  return swapped
}
