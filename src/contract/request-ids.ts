/** The law of request ids: a reply bears the one of its request where that is sane, and else a new one. */
import type { Violation } from './conform.ts'
import type { Exchange } from './conforming-fetch.ts'
import { toBreach } from './law-breach.ts'

const SOURCE = '/components/headers/XRequestId/description'
const HEADER = 'x-request-id'
const SANE = /^[A-Za-z0-9._-]{1,128}$/

/** Judges one exchange after the other: an id that was made up for an earlier one is no new one. */
export function createRequestIdJudge(): (exchange: Exchange) => Violation[] {
  const made = new Set<string>()
  return ({ requestHeaders, replyHeaders }) => {
    const [asked, told] = [requestHeaders[HEADER], replyHeaders[HEADER]]
    if (asked !== undefined && SANE.test(asked))
      return told === asked
        ? []
        : [toBreach(SOURCE, `the request has the ${HEADER} ${asked}, its reply ${told ?? 'none'}`)]
    // That every reply has one is a matter of its schema.
    if (told === undefined) return []
    const isNew = !made.has(told)
    made.add(told)
    return isNew ? [] : [toBreach(SOURCE, `the ${HEADER} ${told} was given to an earlier request`)]
  }
}
