/** The list of what can be named in a chat, and the router's list beside it. */
import { expect } from 'vitest'
import { check, section } from '../../src/contract/check.ts'
import { operationById } from '../../src/spec/document.ts'
import { propertiesOf } from './chat-sources.ts'
import { whileStill } from './pages.ts'
import { client, createModel, home, project, uriOf } from './setup.ts'

const OPERATION = operationById('listInferenceModels').pointer
const DATA = '/components/schemas/InferenceModelList/properties/data/description'
const CREATED = '/components/schemas/InferenceModel/properties/created/description'
const ROUTER = '/components/schemas/RouterModel/properties'
const PRICING = '/components/schemas/RouterPricing/description'

section('Models for inference, which a mock does not keep', { needs: ['memory'], home: true }, () => {
  const list = async (options: object = {}) => (await client.ok('listInferenceModels', options)).data
  const isUri = (id: string) => id.includes(':///')

  check('listInferenceModels/puts-base-models-first-and-each-checkpoint-once', { source: DATA }, async () => {
    const ids = (await list()).map(({ id }) => id)
    expect(new Set(ids).size, 'no model comes twice').toBe(ids.length)
    const bases = ids.slice(0, ids.filter(id => !isUri(id)).length)
    const uris = ids.slice(bases.length)
    const checkpoints = await client.ok('listCheckpoints', { path: { model_id: home.id } })
    expect(uris).toEqual(expect.arrayContaining(checkpoints.data.map(({ step }) => `${uriOf(home)}:step${step}`)))
    expect(uris.filter(id => !/^[a-z-]+:\/\/\/.+:step\d+$/.test(id))).toEqual([])
    const router = await client.ok('listRouterModels')
    expect(bases.toSorted()).toEqual(router.data.map(({ id }) => id).toSorted())
  })

  check('listInferenceModels/is-not-narrowed-by-the-project', { source: `${OPERATION}/description` }, async () => {
    const headers = { 'vendor-project': `${home.entity}/${project}-other` }
    await whileStill(list, async all => expect(await list({ headers })).toEqual(all))
  })

  check('listInferenceModels/tells-when-a-checkpoint-came-to-be', { source: CREATED }, async () => {
    const { data } = await client.ok('listCheckpoints', { path: { model_id: home.id } })
    const models = await list()
    for (const { step, created_at } of data) {
      const { created } = models.find(({ id }) => id === `${uriOf(home)}:step${step}`)!
      expect(Math.abs(created - Date.parse(created_at) / 1000)).toBeLessThanOrEqual(1)
    }
  })

  check('listInferenceModels/forgets-what-is-deleted', { source: `${OPERATION}/description` }, async () => {
    const made = [await createModel('listed'), await createModel('listed-too')]
    const listed = async () => {
      const ids = (await list()).map(({ id }) => id)
      return made.map(model => ids.includes(`${uriOf(model)}:step0`))
    }
    expect(await listed()).toEqual([true, true])
    await client.ok('deleteCheckpoints', { path: { model_id: made[0]!.id }, body: { steps: [0] } })
    expect(await listed()).toEqual([false, true])
    await client.ok('deleteModel', { path: { model_id: made[1]!.id } })
    expect(await listed()).toEqual([false, false])
  })

  section('for routers', { home: false }, () => {
    check('listRouterModels/tells-prices-as-decimals', { source: PRICING }, async () => {
      const { data } = await client.ok('listRouterModels')
      const prices = data.flatMap(({ pricing }) => Object.values(pricing))
      expect(prices.filter(price => !/^\d+(\.\d+)?$/.test(price))).toEqual([])
    })

    check(
      'listRouterModels/gives-no-answer-more-room-than-the-context',
      { source: `${ROUTER}/context_length/description` },
      async () => {
        const { data } = await client.ok('listRouterModels')
        expect(data.filter(model => model.max_output_length > model.context_length)).toEqual([])
      },
    )

    check(
      'listRouterModels/names-fields-of-the-chat-request',
      { source: `${ROUTER}/supported_sampling_parameters/description` },
      async () => {
        const { data } = await client.ok('listRouterModels')
        const named = data.flatMap(model => model.supported_sampling_parameters)
        const fields = propertiesOf('ChatCompletionRequest')
        expect(named.filter(name => !fields.includes(name))).toEqual([])
      },
    )
  })
})
