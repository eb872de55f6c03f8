import { describe, expect, it } from 'vitest'
import type { Check } from '../../src/contract/check.ts'
import { runInOrder } from '../../src/contract/run-in-order.ts'
import { findLeftOut } from '../../src/contract/select-checks.ts'

function toCheck(id: string, more: Partial<Check> = {}): Check {
  const fixed = { source: '/paths', level: 'MUST', needs: [], timeoutMs: 1000, usesHome: false } as const
  return {
    id,
    ...fixed,
    isLast: false,
    flow: null,
    lane: null,
    isAlone: false,
    tag: 'models',
    requests: null,
    run: async () => {},
    ...more,
  }
}

const chosen = (checks: Check[], filters: string[], tags: string[] = []) => {
  const leftOut = findLeftOut(checks, { filters, tags })
  return checks.filter(({ id }) => !leftOut.has(id)).map(({ id }) => id)
}

describe('choosing checks', () => {
  const checks = [
    toCheck('createModel/a'),
    toCheck('getModel/first', { flow: 0 }),
    toCheck('getModel/second', { flow: 0 }),
    toCheck('getModel/third', { flow: 0 }),
    toCheck('other/first', { flow: 1, tag: 'training-jobs' }),
    toCheck('other/second', { flow: 1, tag: 'training-jobs' }),
  ]

  it('takes every check where nothing is asked for', () => {
    expect(chosen(checks, [])).toHaveLength(6)
  })

  it('takes those that hold any of the texts', () => {
    expect(chosen(checks, ['createModel/', 'other/first'])).toEqual(['createModel/a', 'other/first'])
  })

  it('takes those of any of the tags, whatever their case, and only those that the texts choose as well', () => {
    expect(chosen(checks, [], ['Training jobs'])).toEqual(['other/first', 'other/second'])
    expect(chosen(checks, ['first'], ['MODELS'])).toEqual(['getModel/first'])
  })

  it('brings along what a check builds upon, and not what builds upon it', () => {
    expect(chosen(checks, ['getModel/second'])).toEqual(['getModel/first', 'getModel/second'])
  })

  it('says why the others are left out', () => {
    const leftOut = findLeftOut(checks, { filters: ['Model'], tags: ['training-jobs'] })
    expect([leftOut.get('createModel/a'), leftOut.get('other/first')]).toEqual([
      'left out by --tag',
      'left out by --filter',
    ])
  })
})

describe('running checks side by side', () => {
  /** Runs them and tells what began and ended, in order, and how many ran at once. */
  async function run(checks: Check[], concurrency: number) {
    const log: string[] = []
    let running = 0
    let most = 0
    const results = await runInOrder(checks, concurrency, async ({ id }) => {
      log.push(`+${id}`)
      running++
      most = Math.max(most, running)
      await new Promise(resolve => setTimeout(resolve, id.startsWith('slow') ? 40 : 5))
      running--
      log.push(`-${id}`)
      return id
    })
    return { log, most, results }
  }

  it('keeps to the number, and gives the results in order', async () => {
    const checks = ['slow1', 'b', 'c', 'd', 'e'].map(id => toCheck(id))
    const { most, results } = await run(checks, 3)
    expect(most).toBe(3)
    expect(results).toEqual(['slow1', 'b', 'c', 'd', 'e'])
    expect((await run(checks, 1)).most).toBe(1)
  })

  it('runs what builds upon another check after it, and others meanwhile', async () => {
    const checks = [toCheck('slow1', { flow: 0 }), toCheck('next', { flow: 0 }), toCheck('free')]
    const { log } = await run(checks, 2)
    expect(log.indexOf('+next')).toBeGreaterThan(log.indexOf('-slow1'))
    expect(log.indexOf('-free')).toBeLessThan(log.indexOf('-slow1'))
  })

  it('runs what shares something never at once', async () => {
    const checks = ['slow1', 'slow2', 'c'].map(id => toCheck(id, { lane: 'names' }))
    expect((await run(checks, 3)).most).toBe(1)
  })

  it('runs nothing beside what is to be alone', async () => {
    const checks = [toCheck('slow1'), toCheck('slow2', { isAlone: true }), toCheck('c'), toCheck('d')]
    const { log, results } = await run(checks, 3)
    const start = log.indexOf('+slow2')
    expect(log[start + 1]).toBe('-slow2')
    expect(log.slice(0, start).filter(line => line.startsWith('+'))).toHaveLength(
      log.slice(0, start).filter(line => line.startsWith('-')).length,
    )
    expect(results).toEqual(['slow1', 'slow2', 'c', 'd'])
  })

  it('runs what judges the others when they have ended', async () => {
    const { log } = await run([toCheck('last', { isLast: true }), toCheck('slow1'), toCheck('b')], 8)
    expect(log.indexOf('+last')).toBe(4)
  })
})
