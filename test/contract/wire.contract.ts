/** Ways of writing a request that mean the same, on requests that succeed. */
import { expect } from 'vitest'
import { check, checkEach, section } from '../../src/contract/check.ts'
import type { CallOptions, OperationId } from '../../src/contract/client.ts'
import { whileStill } from './pages.ts'
import { client, createModel, home, project, runId, secretName, target, unknownId } from './setup.ts'

const WIRE = '/info/description#On the wire'
const IDS = '/info/description#Ids, times and null'
const DETAIL = '/components/schemas/ValidationErrorBody/properties/detail/description'
const FIRST = '/components/schemas/ValidationErrorBody/properties/error/description'
const UNKNOWN = { 'x-unknown': { a: [1, null] }, unknown_too: null }

section('Writing the same in other ways, which a mock does not compare', { needs: ['memory'] }, () => {
  checkEach<[string, string]>([
    ['a-charset', 'application/json; charset=utf-8'],
    ['a-charset-in-capitals', 'application/json;charset=UTF-8'],
    ['capitals', 'Application/JSON'],
  ])(
    'createModel/takes-a-content-type-with-%s',
    () => ({ source: WIRE }),
    async (name, type) => {
      const body = { project, name: `${runId}-type-${name}`, base_model: target.baseModel, entity: home.entity }
      const options = { raw: JSON.stringify(body), headers: { 'content-type': type } }
      expect(await client.ok('createModel', options)).toMatchObject({ name: body.name })
    },
  )

  check('listModels/encodes-nothing-that-is-not-accepted', { source: WIRE }, async () => {
    for (const accepted of ['identity', 'gzip;q=0, identity']) {
      const { status, headers } = await client.call('listModels', { headers: { 'accept-encoding': accepted } })
      expect({ status, coding: headers.get('content-encoding') ?? 'identity' }).toEqual({
        status: 200,
        coding: 'identity',
      })
    }
  })

  check('listModels/takes-a-cursor-in-upper-case', { source: WIRE }, async () => {
    const after = (await createModel('cursor')).id
    await createModel('behind-the-cursor')
    const read = async (cursor: string) => (await client.ok('listModels', { query: { after: cursor } })).data
    await whileStill(
      () => read(after),
      async page => expect(await read(after.toUpperCase())).toEqual(page),
    )
  })

  section('unknown keys', { source: IDS }, () => {
    const team = () => ({ entity: home.entity })
    const requests: [OperationId, () => CallOptions][] = [
      ['createModel', () => ({ body: { project, name: `${runId}-unknown`, base_model: target.baseModel } })],
      ['createApiKey', () => ({ body: { name: `${runId}-unknown` } })],
      ['putSecret', () => ({ path: { ...team(), name: secretName('unknown') }, body: { value: 'a value' } })],
      ['putMember', () => ({ path: { ...team(), user: `${runId}-unknown` }, body: { role: 'member' } })],
      [
        'createWebhook',
        () => ({ path: team(), body: { name: `${runId} unknown`, endpoint_url: 'https://hooks.example.com/' } }),
      ],
      ['logTrajectories', () => ({ path: { model_id: home.id }, body: { split: 'unknown', trajectory_groups: [] } })],
    ]
    for (const [id, toRequest] of requests)
      check(`${id}/succeeds-with-keys-that-nobody-knows`, async () => {
        const { body, ...request } = toRequest()
        const record = (await client.ok(id, { ...request, body: { ...(body as object), ...UNKNOWN } })) as object
        expect(Object.keys(record).filter(key => key in UNKNOWN)).toEqual([])
      })
  })

  check('createRlTrainingJob/tells-at-most-100-broken-rules', { source: DETAIL }, async () => {
    const trajectories = Array.from({ length: 150 }, () => ({ messages_and_choices: 7 }))
    const body = { model_id: unknownId, trajectory_groups: [{ trajectories }] }
    const { detail, error } = await client.refused('createRlTrainingJob', 422, { body })
    expect(detail).toHaveLength(100)
    expect(error.message).toContain((detail as { msg: string }[])[0]!.msg)
  })

  check('createModel/tells-the-first-broken-rule-as-its-error', { source: FIRST }, async () => {
    const { detail, error } = await client.refused('createModel', 422, { body: { name: 7, base_model: [] } })
    const [first] = detail as { loc: string[]; msg: string }[]
    expect(error.message).toContain(first!.msg)
    expect(error.param).toBe(first!.loc.slice(1).join('.'))
  })
})
