import { describe, expect, it } from 'vitest'
import { judgeTiming } from '../contract/stream-timing.ts'

describe('the time of the first words of a stream', () => {
  it.each([
    ['a fast server', [{ single: 5, whole: 400, first: 8 }], 'as-it-goes'],
    ['a slow server', [{ single: 900, whole: 60_000, first: 1200 }], 'as-it-goes'],
    ['a server behind a queue', [{ single: 5000, whole: 6000, first: 5100 }], 'as-it-goes'],
    [
      'a server that was held up once',
      [
        { single: 5, whole: 400, first: 390 },
        { single: 5, whole: 400, first: 30 },
      ],
      'as-it-goes',
    ],
    ['a stream made before it is sent', Array(3).fill({ single: 5, whole: 400, first: 398 }), 'at-the-end'],
    ['one that is then sent slowly', Array(3).fill({ single: 5, whole: 400, first: 410 }), 'at-the-end'],
    ['one made by halves', Array(3).fill({ single: 50, whole: 450, first: 300 }), 'at-the-end'],
    ['a server that is done at once', Array(3).fill({ single: 5, whole: 20, first: 19 }), 'too-fast-to-tell'],
    [
      'a server of which one try tells',
      [
        { single: 5, whole: 20, first: 19 },
        { single: 5, whole: 400, first: 9 },
      ],
      'as-it-goes',
    ],
  ])('tells %s', (_, tries, timing) => expect(judgeTiming(tries)).toBe(timing))
})
