import { expect, it } from 'vitest'
import { toTrajectoryGroup } from '../../src/demo/roll-out.ts'
import { PROMPTS, pickPrompts, toReward } from '../../src/demo/yes-no-maybe.ts'

it('pays the word alone, exactly as written', () => {
  expect(['maybe', 'no', 'yes'].map(toReward)).toEqual([1, 0.75, 0.5])
  expect(['Maybe', 'maybe.', ' maybe', 'yes or no', '', 'toString'].map(toReward)).toEqual([0, 0, 0, 0, 0, 0])
})

it('has 48 prompts and visits every one of them in turn', () => {
  expect(new Set(PROMPTS).size).toBe(48)
  expect(PROMPTS).toContain("just respond with 'maybe', 'yes', 'no'")
  expect(PROMPTS).toContain('respond with yes or no')
  for (const count of [8, 24, 48]) {
    const steps = Array.from({ length: 48 / count }, (_, step) => pickPrompts(step, count))
    expect(new Set(steps.flat()).size).toBe(48)
  }
})

it('puts choices into a group as they came, each with the reward of its text', () => {
  const choice = {
    index: 0,
    message: { role: 'assistant', content: 'no' },
    logprobs: { content: [] },
    token_ids: [1, 2],
  }
  const group = toTrajectoryGroup('yes or no', [choice] as never)
  expect(group).toEqual({
    trajectories: [{ messages_and_choices: [{ role: 'user', content: 'yes or no' }, choice], reward: 0.75 }],
  })
})
