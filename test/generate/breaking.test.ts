import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { acceptContract, checkBreaking } from '../../src/generate/breaking.ts'
import type { OpenApiDocument, Schema } from '../../src/generate/document.ts'
import { copyContract } from './contract-copy.ts'

const root = join(import.meta.dirname, '../..')
type Schemas = Record<string, Required<Schema>>

/** A copy of the contract, released as it is, whose present document was then changed. */
const changeAfterRelease = async (change: (document: OpenApiDocument, schemas: Schemas) => void) => {
  const folder = await copyContract()
  await acceptContract(folder)
  const file = join(folder, 'generated/openapi.json')
  const document = JSON.parse(await readFile(file, 'utf8')) as OpenApiDocument
  change(document, document.components!.schemas as Schemas)
  await writeFile(file, JSON.stringify(document))
  return folder
}

describe('the breaking-change gate', () => {
  test('passes for the contract as it is', async () => {
    const { breaking, text } = await checkBreaking(root)
    expect(text).toContain('0 major')
    expect(breaking).toBe(false)
  })

  test.each<[string, string, (document: OpenApiDocument, schemas: Schemas) => void]>([
    ['an operation is gone', 'GET /v1/health', ({ paths }) => void delete paths['/v1/health']!.get],
    ['a path is gone', '/v1/system-check', ({ paths }) => void delete paths['/v1/system-check']],
    ['a field of a reply is gone', '`name`', (_, { Model }) => void delete Model!.properties.name],
    [
      'a field of a request is required now',
      '`model`',
      (_, schemas) => void schemas.ChatCompletionRequest!.required.push('model'),
    ],
    [
      'a field of a request takes less',
      '`temperature`',
      (_, schemas) => {
        schemas.ChatCompletionRequest!.properties.temperature!.type = 'integer'
      },
    ],
    [
      'a field of a streamed chunk is gone',
      '`choices`',
      (_, schemas) => void delete schemas.ChatCompletionChunk!.properties.choices,
    ],
  ])('fails when %s', async (_, named, change) => {
    const { breaking, text } = await checkBreaking(await changeAfterRelease(change))
    expect(text).toContain(named)
    expect(breaking).toBe(true)
  })

  test.each<[string, (document: OpenApiDocument, schemas: Schemas) => void]>([
    [
      'a request gains an optional field',
      (_, { CreateModelRequest }) => {
        CreateModelRequest!.properties.note = { type: 'string' }
      },
    ],
    [
      'a description changes',
      ({ paths }) => void Object.assign(paths['/v1/health']!.get!, { description: 'Says so.' }),
    ],
  ])('passes when %s', async (_, change) => {
    expect(await checkBreaking(await changeAfterRelease(change))).toMatchObject({ breaking: false })
  })

  test('exits with 1, naming the change and how to accept it; once accepted it passes', async () => {
    const folder = await changeAfterRelease(({ paths }) => void delete paths['/v1/models'])
    const run = (...args: string[]) =>
      promisify(execFile)(process.execPath, [join(root, 'src/generate/breaking.ts'), '--root', folder, ...args])
    const failure = await run().catch((error: { code: number; stdout: string; stderr: string }) => error)
    expect(failure).toMatchObject({ code: 1, stdout: expect.stringContaining('/v1/models') })
    expect(failure.stderr).toContain('node src/generate/breaking.ts --accept')
    await run('--accept')
    expect((await run()).stdout).toContain('0 major')
  })

  test('fails when there is no released contract', async () => {
    const folder = await copyContract()
    await rm(join(folder, 'spec/released.json'), { force: true })
    await expect(checkBreaking(folder)).rejects.toThrow('spec/released.json is missing')
  })
})
