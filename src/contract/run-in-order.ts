/** Runs checks side by side where they may, and in order where they must. */
import type { Check } from './check.ts'

/**
 * At most `concurrency` checks run at once. Those of one flow or lane run one after the other, those that are to be alone while no other runs,
 * and those that judge what the others led to when the others have ended. Resolves with the results in the order of the checks.
 */
export async function runInOrder<Result>(
  checks: readonly Check[],
  concurrency: number,
  run: (check: Check) => Promise<Result>,
): Promise<Result[]> {
  const results = new Map<Check, Result>()
  for (const isLast of [false, true]) {
    const waiting = checks.filter(check => check.isLast === isLast)
    const busy = new Set<number | string>()
    const running = new Set<Check>()
    let wake: (() => void)[] = []

    const mayRun = ({ isAlone }: Check) => running.size === 0 || (!isAlone && ![...running].some(one => one.isAlone))

    async function work(): Promise<void> {
      while (waiting.length > 0) {
        const place = waiting.findIndex(check => mayRun(check) && !placesOf(check).some(one => busy.has(one)))
        if (place < 0) {
          await new Promise<void>(resolve => wake.push(resolve))
          continue
        }
        const [check] = waiting.splice(place, 1) as [Check]
        running.add(check)
        for (const one of placesOf(check)) busy.add(one)
        try {
          results.set(check, await run(check))
        } finally {
          running.delete(check)
          for (const one of placesOf(check)) busy.delete(one)
          for (const resolve of wake) resolve()
          wake = []
        }
      }
    }

    await Promise.all(Array.from({ length: concurrency }, work))
  }
  return checks.map(check => results.get(check)!)
}

/** Where only one check may be at once. */
function placesOf({ flow, lane }: Check): (number | string)[] {
  return [flow, lane].filter(place => place !== null)
}
