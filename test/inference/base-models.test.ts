import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBaseModels } from '../../src/inference/base-models.ts'
import { startTestServer } from '../server/start.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trainyard-models-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

async function addModel(name: string, card?: string, config = '{"max_position_embeddings": 512}'): Promise<void> {
  await mkdir(join(folder, name), { recursive: true })
  await writeFile(join(folder, name, 'config.json'), config)
  if (card !== undefined) await writeFile(join(folder, name, 'trainyard.json'), card)
}

test('without a folder there is tiny-chat, which learns at a rate of its own', () => {
  const models = readBaseModels('')
  expect([...models.keys()]).toEqual(['tiny-chat'])
  expect(models.get('tiny-chat')).toMatchObject({ contextLength: 2048, defaultLearningRate: expect.any(Number) })
  expect(models.get('tiny-chat')!.defaultLearningRate).toBeGreaterThan(5e-6)
})

test('models stand one or two levels deep; hidden folders, files and other folders are no models', async () => {
  await addModel('flat')
  await addModel('owner/deep')
  await addModel('owner/.cache')
  await addModel('.hidden')
  await addModel('a/b/too-deep')
  await mkdir(join(folder, 'empty'))
  await writeFile(join(folder, 'notes.txt'), 'x')
  await symlink(join(folder, 'flat'), join(folder, 'linked'))
  await symlink(join(folder, 'nowhere'), join(folder, 'dangling'))
  expect([...readBaseModels(folder).keys()]).toEqual(['tiny-chat', 'flat', 'linked', 'owner/deep'])
})

test('the card tells the router entry and the learning rate; what it leaves out has defaults', async () => {
  await addModel('bare')
  await addModel(
    'told',
    '{"name":"Told","created":7,"context_length":99,"default_learning_rate":0.25,"pricing":{"prompt":"1"}}',
  )
  const models = readBaseModels(folder)
  expect(models.get('bare')).toMatchObject({
    contextLength: 512,
    defaultLearningRate: 5e-6,
    router: { id: 'bare', name: 'bare', context_length: 512, max_output_length: 512, deprecation_date: null },
  })
  const told = models.get('told')!
  expect(told).toMatchObject({ contextLength: 99, defaultLearningRate: 0.25, created: 7 })
  expect(told.router).toMatchObject({ id: 'told', name: 'Told', created: 7, context_length: 99, max_output_length: 99 })
  expect(told.router.pricing).toEqual({ prompt: '1', completion: '0', image: '0', request: '0', input_cache_read: '0' })
  expect(told.router).not.toHaveProperty('default_learning_rate')
})

test.each([
  ['no JSON', '{oops'],
  ['a list', '[]'],
  ['a rate that is no number', '{"default_learning_rate":"fast"}'],
  ['a rate of nothing', '{"default_learning_rate":0}'],
  ['a context that is no number', '{"context_length":"long"}'],
  ['a price that is no text', '{"pricing":{"prompt":1}}'],
])('a card with %s is refused with the file that holds it', async (_name, card) => {
  await addModel('bad', card)
  expect(() => readBaseModels(folder)).toThrow(join(folder, 'bad', 'trainyard.json'))
})

test('a config that is no JSON is refused with its file, a folder that is missing by its name', async () => {
  await addModel('bad', undefined, '{oops')
  expect(() => readBaseModels(folder)).toThrow(join(folder, 'bad', 'config.json'))
  expect(() => readBaseModels(join(folder, 'none'))).toThrow(join(folder, 'none'))
})

test('a name from a request is looked up, never a path', async () => {
  await addModel('owner/deep')
  await addModel('flat')
  const server = await startTestServer({ environment: { MODELS_DIR: join(folder, 'owner') } })
  const names = [
    '../flat',
    './deep',
    'deep/',
    'deep/../deep',
    join(folder, 'flat'),
    'tiny-chat/../tiny-chat',
    'DEEP',
    '__proto__',
  ]
  for (const name of names) {
    const create = { project: 'p', name: 'm', base_model: name }
    expect((await server.call('/v1/preview/models', { json: create })).status).toBe(400)
    const chat = { model: name, messages: [{ role: 'user', content: 'hi' }] }
    expect((await server.call('/v1/chat/completions', { json: chat })).status).toBe(404)
  }
  expect((await server.call('/v1/chat/completions', { json: { model: 'deep', messages: [] } })).status).not.toBe(404)
  await server.close()
})
