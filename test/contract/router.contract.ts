import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { client, home, target } from './setup.ts'

section('Router', {}, () => {
  const source = '/paths/~1inference~1router~1partner~1models/get/security'
  check('listRouterModels/answers-without-credentials', { source, home: false }, async () => {
    await client.ok('listRouterModels')
  })

  check('listRouterModels/shows-the-base-model', { home: false }, async () => {
    const { data } = await client.ok('listRouterModels')
    expect(data.length).toBeGreaterThan(0)
    if (!target.isMock) expect(data.map(model => model.id)).toContain(target.baseModel)
  })

  check('listRouterModels/shows-no-trained-model', { needs: ['memory', 'writes'], home: true }, async () => {
    const { data } = await client.ok('listRouterModels')
    expect(data.filter(model => model.id.includes(home.name))).toEqual([])
  })
})
