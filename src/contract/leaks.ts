/** Credentials of the caller that stand in a reply: no reply may hold one. */
import type { Violation } from './conform.ts'
import type { Exchange } from './conforming-fetch.ts'
import type { Target } from './target.ts'

/** Shorter keys, such as one made up for a mock, may stand in a text by chance. */
const SECRET_LENGTH = 16

export function findLeaks({ replyBody, replyHeaders }: Exchange, target: Target): Violation[] {
  const basicPassword = target.basic.slice(target.basic.indexOf(':') + 1)
  const secrets = new Set([target.apiKey, target.secondApiKey, basicPassword])
  const places = { 'the body': replyBody, 'a header': JSON.stringify(replyHeaders) }
  return [...secrets].flatMap(secret =>
    secret && secret.length >= SECRET_LENGTH
      ? Object.entries(places)
          .filter(([, text]) => text.includes(secret))
          .map(([place]) => ({
            rule: 'leak' as const,
            message: `${place} of the reply holds an API key`,
            pointer: '/info/description#Authentication',
            instancePath: '',
          }))
      : [],
  )
}
