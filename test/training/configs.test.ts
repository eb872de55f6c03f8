import { describe, expect, test } from 'vitest'
import { DataError } from '../../src/training/engine.ts'
import { toRlConfig } from '../../src/training/rl-config.ts'
import { toSftConfig } from '../../src/training/sft-config.ts'

function catchDataError(run: () => unknown): DataError {
  try {
    run()
  } catch (error) {
    if (error instanceof DataError) return error
    throw error
  }
  throw new Error('expected a DataError')
}

const RL_DEFAULTS = {
  learningRate: 7e-4,
  ppo: false,
  epsilon: 1,
  epsilonHigh: 4,
  advantageBalance: 0,
  scaleRewards: true,
  maskProbRatio: false,
  maxNegativeAdvantageImportanceSamplingWeight: null,
  k2Tau: null,
  precalculateLogprobs: false,
  importanceSamplingLevel: 'token',
}

const RL_KEYS = [
  'advantage_balance',
  'epsilon',
  'epsilon_high',
  'vendor_k2_tau',
  'kimi_k2_tau',
  'learning_rate',
  'mask_prob_ratio',
  'max_negative_advantage_importance_sampling_weight',
  'ppo',
  'precalculate_logprobs',
  'scale_rewards',
  'importance_sampling_level',
]

describe('toRlConfig', () => {
  test.each([undefined, null, {}, Object.fromEntries(RL_KEYS.map(key => [key, null])), { loss_fn: 'cispo' }])(
    'takes every default from %j',
    wire => {
      expect(toRlConfig(wire, 7e-4)).toEqual(RL_DEFAULTS)
    },
  )

  test('clips more tightly with ppo, the upper side like the lower', () => {
    expect(toRlConfig({ ppo: true }, 1e-5)).toMatchObject({ epsilon: 0.2, epsilonHigh: 0.2 })
    expect(toRlConfig({ ppo: true, epsilon: 0.3 }, 1e-5)).toMatchObject({ epsilon: 0.3, epsilonHigh: 0.3 })
    expect(toRlConfig({ epsilon: 0.3 }, 1e-5)).toMatchObject({ epsilon: 0.3, epsilonHigh: 4 })
  })

  test('takes every value', () => {
    const wire = {
      advantage_balance: -0.5,
      epsilon: 0.1,
      epsilon_high: 0.4,
      vendor_k2_tau: 0.25,
      learning_rate: 1e-4,
      mask_prob_ratio: true,
      max_negative_advantage_importance_sampling_weight: 3,
      ppo: true,
      precalculate_logprobs: true,
      scale_rewards: false,
      importance_sampling_level: 'geometric_average',
    }
    expect(toRlConfig(wire, 1)).toEqual({
      learningRate: 1e-4,
      ppo: true,
      epsilon: 0.1,
      epsilonHigh: 0.4,
      advantageBalance: -0.5,
      scaleRewards: false,
      maskProbRatio: true,
      maxNegativeAdvantageImportanceSamplingWeight: 3,
      k2Tau: 0.25,
      precalculateLogprobs: true,
      importanceSamplingLevel: 'geometric_average',
    })
  })

  test('takes either name of tau, 0 as off', () => {
    expect(toRlConfig({ kimi_k2_tau: 0.5, vendor_k2_tau: null }, 1).k2Tau).toBe(0.5)
    expect(toRlConfig({ kimi_k2_tau: 0.5, vendor_k2_tau: 0.5 }, 1).k2Tau).toBe(0.5)
    expect(toRlConfig({ vendor_k2_tau: 0, max_negative_advantage_importance_sampling_weight: 0 }, 1)).toEqual({
      ...RL_DEFAULTS,
      learningRate: 1,
    })
  })

  test.each([
    ['advantage_balance', 1.01],
    ['advantage_balance', -1.01],
    ['advantage_balance', '0'],
    ['epsilon', -0.1],
    ['epsilon_high', -0.1],
    ['vendor_k2_tau', -1],
    ['kimi_k2_tau', -1],
    ['learning_rate', 0],
    ['learning_rate', -1e-5],
    ['learning_rate', Number.NaN],
    ['learning_rate', '1e-5'],
    ['learning_rate', [1e-5]],
    ['mask_prob_ratio', 1],
    ['max_negative_advantage_importance_sampling_weight', -1],
    ['ppo', 'true'],
    ['precalculate_logprobs', 0],
    ['scale_rewards', {}],
    ['importance_sampling_level', 'word'],
  ])('refuses %s %j', (key, value) => {
    expect(catchDataError(() => toRlConfig({ [key]: value }, 1e-5)).loc).toEqual(['experimental_config', key])
  })

  test('refuses two different taus and a config that is no object', () => {
    const two = catchDataError(() => toRlConfig({ vendor_k2_tau: 1, kimi_k2_tau: 2 }, 1e-5))
    expect(two.loc).toEqual(['experimental_config', 'kimi_k2_tau'])
    expect(catchDataError(() => toRlConfig([], 1e-5)).loc).toEqual(['experimental_config'])
  })
})

describe('toSftConfig', () => {
  test.each([undefined, null, {}, { batch_size: null, learning_rate: null }, { batch_size: 'auto' }])(
    'takes every default from %j',
    wire => {
      expect(toSftConfig(wire, 5e-5)).toEqual({ batchSize: 2, learningRate: 5e-5 })
    },
  )

  test('takes a rate or a schedule that starts and ends at 0', () => {
    expect(toSftConfig({ batch_size: 8, learning_rate: 1e-3 }, 1)).toEqual({ batchSize: 8, learningRate: 1e-3 })
    expect(toSftConfig({ learning_rate: [0, 1e-3, 0] }, 1).learningRate).toEqual([0, 1e-3, 0])
  })

  test.each([
    [{ batch_size: 0 }, ['config', 'batch_size']],
    [{ batch_size: 1.5 }, ['config', 'batch_size']],
    [{ batch_size: '2' }, ['config', 'batch_size']],
    [{ learning_rate: 0 }, ['config', 'learning_rate']],
    [{ learning_rate: -1 }, ['config', 'learning_rate']],
    [{ learning_rate: [] }, ['config', 'learning_rate']],
    [{ learning_rate: [1e-3, -1] }, ['config', 'learning_rate', '1']],
    [{ learning_rate: [1e-3, null] }, ['config', 'learning_rate', '1']],
    ['fast', ['config']],
  ])('refuses %j', (wire, loc) => {
    expect(catchDataError(() => toSftConfig(wire, 1e-5)).loc).toEqual(loc)
  })
})
