/** Whether a stream is one: whether its first words come while the rest is still being made. */
import { performance } from 'node:perf_hooks'

/** Times of one try, in milliseconds: the same request for a single token, as one body, and streamed up to its first content. */
export interface StreamTry {
  single: number
  whole: number
  first: number
}

export type StreamTiming = 'as-it-goes' | 'at-the-end' | 'too-fast-to-tell'

/** A shorter time of generation drowns in what a network or a busy machine adds. */
const SHORTEST_MS = 60
/** Of the time of generation: a stream whose first content comes later than this was made before it was sent. */
const LATEST_SHARE = 0.5

/**
 * One try that shows a stream is enough, since delays by chance only make it look worse. A server that waits long before it begins, or
 * that is slow, does so for a single token too, which is why the time of that is taken away.
 */
export function judgeTiming(tries: readonly StreamTry[]): StreamTiming {
  const telling = tries.filter(({ single, whole }) => whole - single >= SHORTEST_MS)
  if (telling.length === 0) return 'too-fast-to-tell'
  const isEarly = ({ single, whole, first }: StreamTry) => first - single < LATEST_SHARE * (whole - single)
  return telling.some(isEarly) ? 'as-it-goes' : 'at-the-end'
}

/** Milliseconds that it takes. */
export async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}
