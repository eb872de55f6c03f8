/** Whether a text has begun to go round in circles. */
import type { Sampling } from '../inference/engine.ts'

/** For some block length from min to max the last `minCount` blocks of that length are all the same. */
export function endsInRepetition(
  ids: readonly number[],
  { minPatternSize, maxPatternSize, minCount }: NonNullable<Sampling['repetitionDetection']>,
): boolean {
  const longest = Math.min(maxPatternSize, Math.floor(ids.length / minCount))
  for (let length = Math.max(minPatternSize, 1); length <= longest; length++) {
    const start = ids.length - length * (minCount - 1)
    let place = ids.length - 1
    while (place >= start && ids[place] === ids[place - length]) place -= 1
    if (place < start) return true
  }
  return false
}
