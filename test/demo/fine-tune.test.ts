import { expect, it } from 'vitest'
import { toLearningRates } from '../../src/demo/fine-tune.ts'
import { PAIRS, toTrainingFile } from '../../src/demo/question-answers.ts'

it('teaches 64 different facts, each once per epoch, in another order each time', () => {
  expect(new Set(PAIRS.map(({ question }) => question)).size).toBe(64)
  expect(new Set(PAIRS.map(({ answer }) => answer.split(' ').at(-1))).size).toBe(64)
  const lines = toTrainingFile(PAIRS, 3).trimEnd().split('\n')
  const epochs = [0, 1, 2].map(epoch => lines.slice(epoch * 64, (epoch + 1) * 64))
  for (const epoch of epochs) expect(new Set(epoch).size).toBe(64)
  expect(new Set(epochs.map(String)).size).toBe(3)
  const { question, answer } = PAIRS[0]!
  expect(
    lines.map(line => JSON.parse(line).messages.map(({ content }: { content: string }) => content)),
  ).toContainEqual([question, answer])
})

it('has one falling learning rate for each gradient step', () => {
  const rates = toLearningRates({ pairs: PAIRS, epochs: 3, batchSize: 20, learningRate: 0.01 })
  expect(rates).toHaveLength(10)
  expect(rates[0]).toBe(0.01)
  expect(rates.at(-1)).toBeCloseTo(0.001)
  expect(rates).toEqual([...rates].sort((a, b) => b - a))
})
