import { describe, expect, it } from 'vitest'
import type { Answer } from '../../src/contract/client.ts'
import { compareAnswers, compareWith } from '../../src/contract/derive/compare-answers.ts'

function answer(body: unknown, status = 200): Answer {
  const text = JSON.stringify(body) ?? ''
  return { status, headers: new Headers(), bytes: new TextEncoder().encode(text), text, body }
}

describe('two answers', () => {
  const one = answer({ id: 'a', text: 'hello', list: [{ n: 1 }] })
  const again = answer({ id: 'b', text: 'hello', list: [{ n: 1 }] })

  it('are the same but for what differs by itself', () => {
    expect(compareAnswers(one, [again], answer({ id: 'c', list: [{ n: 1 }], text: 'hello' }))).toBeNull()
  })

  it.each([
    ['another value', answer({ id: 'c', text: 'hullo', list: [{ n: 1 }] }), 'the answer differs at /text'],
    ['one deep inside', answer({ id: 'c', text: 'hello', list: [{ n: 2 }] }), 'the answer differs at /list/0/n'],
    ['a key more', answer({ id: 'c', text: 'hello', list: [{ n: 1 }], x: 1 }), 'the answer differs at /x'],
    ['another status', answer({ id: 'c' }, 422), 'the status is 422 instead of 200'],
    ['no JSON', { ...answer(null), body: undefined }, 'the answer differs at the whole'],
  ])('are told apart by %s', (_, other, difference) => expect(compareAnswers(one, [again], other)).toBe(difference))

  it('say nothing where an answer is different each time', () => {
    expect(compareAnswers(answer('a'), [answer('b')], answer('c'))).toBeNull()
  })

  it('that are errors are compared by their status, since their words are free', () => {
    expect(
      compareAnswers(answer({ detail: 'x' }, 404), [answer({ detail: 'x' }, 404)], answer({ detail: 'y' }, 404)),
    ).toBeNull()
  })

  it('are compared once more where they seem to differ, since a clock may have moved on', async () => {
    const at = (created: number, text = 'hello') => answer({ created, text })
    const compare = (other: Answer) =>
      compareWith(
        at(1),
        at(1),
        async () => at(2),
        async () => other,
      )
    expect(await compare(at(2))).toBeNull()
    expect(await compare(at(2, 'hullo'))).toBe('the answer differs at /text')
  })
})
