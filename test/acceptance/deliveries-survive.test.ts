import { expect, test } from 'vitest'
import { findFaults, surviveKills } from './deliveries-survive.ts'

/** On two cores that other tests use as well. */
const LIMIT_MS = 180_000

test('what an acknowledged change fires arrives under one id though the server is killed, and nothing else does', {
  timeout: LIMIT_MS,
}, async () => {
  const survival = await surviveKills({ kills: 3, events: 100 })
  expect(findFaults(survival)).toEqual([])
  expect(survival.delivered).toBeGreaterThanOrEqual(survival.acknowledged)
  expect(survival.refused).toBe(20)
})
