import { describe, expect, it } from 'vitest'
import { createRlStart, findFaults, killDuringJob, startSftJob } from './kill-and-restart.ts'

/** On two cores that other tests use as well. */
const LIMIT_MS = 180_000

describe('a job whose server is killed', () => {
  it.each([
    ['SFT', startSftJob, 10],
    ['RL', createRlStart(), 2],
  ])(
    '%s: completes after a restart, with one checkpoint and no gap',
    { timeout: LIMIT_MS },
    async (_, startJob, step) => {
      expect(findFaults(await killDuringJob(startJob, step))).toEqual([])
    },
  )
})
