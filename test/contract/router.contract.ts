import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { client, home, target } from './setup.ts'

section('Router', {}, () => {
  check('listRouterModels/shows-the-base-model-without-credentials', async () => {
    const { data } = await client.ok('listRouterModels')
    expect(data.length).toBeGreaterThan(0)
    if (!target.isMock) expect(data.map(model => model.id)).toContain(target.baseModel)
  })

  check('listRouterModels/shows-no-trained-model', { needs: ['memory'] }, async () => {
    const { data } = await client.ok('listRouterModels')
    expect(data.filter(model => model.id.includes(home.name))).toEqual([])
  })
})
