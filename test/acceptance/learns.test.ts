import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../generated/client.ts'
import { FINE_TUNE, measureFineTune } from './fine-tune.ts'
import { reinforceWithStockClient } from './reinforce-with-stock-client.ts'
import { openTarget, type Target } from './target.ts'
import { YES_NO_MAYBE } from './yes-no-maybe.ts'

/** On two cores that other tests use as well. */
const LIMIT_MS = 180_000

describe('a server of its own', () => {
  let target: Target
  beforeAll(async () => {
    target = await openTarget({})
  })
  afterAll(() => target?.close())

  it('learns from rewards what pays best, driven by a stock client', { timeout: LIMIT_MS }, async () => {
    const { rewards } = await reinforceWithStockClient(target, { ...YES_NO_MAYBE, seed: 1 })
    expect(rewards[0]).toBeLessThan(0.85)
    expect(rewards.at(-1)).toBeGreaterThanOrEqual(0.95)
  })

  it('learns new questions and answers by heart', { timeout: LIMIT_MS }, async () => {
    const client = createClient({ baseUrl: target.url, apiKey: target.apiKey })
    const { before, after, losses } = await measureFineTune(client, FINE_TUNE)
    expect(before).toBe(0)
    expect(after).toBeGreaterThanOrEqual(0.95)
    expect(losses.at(-1)).toBeLessThan(losses[0]! / 4)
  })
})
