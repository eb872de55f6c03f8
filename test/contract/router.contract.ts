import { describe, expect, test } from 'vitest'
import { client, home, target } from './setup.ts'

describe('Router', () => {
  test('listRouterModels/shows-the-base-model-without-credentials', async () => {
    const { data } = await client.ok('listRouterModels')
    expect(data.length).toBeGreaterThan(0)
    if (!target.isMock) expect(data.map(model => model.id)).toContain(target.baseModel)
  })

  test.skipIf(target.isMock)('listRouterModels/shows-no-trained-model', async () => {
    const { data } = await client.ok('listRouterModels')
    expect(data.filter(model => model.id.includes(home.name))).toEqual([])
  })
})
