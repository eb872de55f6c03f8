import { execFile } from 'node:child_process'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { checkGenerated, runGenerate } from '../../src/generate/generate.ts'
import { copyContract, replaceIn } from './contract-copy.ts'

const root = join(import.meta.dirname, '../..')
const runCheck = (folder: string) =>
  promisify(execFile)(process.execPath, [join(root, 'src/generate/generate.ts'), '--check', '--root', folder]).then(
    () => ({ code: 0, stderr: '' }),
    (error: { code: number; stderr: string }) => error,
  )

describe('generated/', () => {
  test('matches the contract', async () => {
    expect(await checkGenerated(root)).toEqual([])
  })

  test('drifts when one field of the contract changes, and generating mends it', async () => {
    const folder = await copyContract()
    await replaceIn(join(folder, 'spec/schemas/CreateModelRequest.yaml'), '  base_model:\n', '  base_model_name:\n')
    expect(await checkGenerated(folder)).toEqual([
      'generated/openapi.json',
      'generated/schema.d.ts',
      'generated/spec-lines.json',
    ])

    await runGenerate(folder)
    expect(await checkGenerated(folder)).toEqual([])
    expect(await readFile(join(folder, 'generated/schema.d.ts'), 'utf8')).toContain('base_model_name')
  })

  test('drifts when a line of the contract moves, though no client could notice', async () => {
    const folder = await copyContract()
    await replaceIn(join(folder, 'spec/schemas/Model.yaml'), 'type: object\n', '# A model.\ntype: object\n')
    expect(await checkGenerated(folder)).toEqual(['generated/spec-lines.json'])
  })

  test('drifts when a generated file was edited, and when one is missing', async () => {
    const folder = await copyContract()
    await writeFile(join(folder, 'generated/client.ts'), '// mine\n')
    await rm(join(folder, 'generated/schema.d.ts'))
    expect(await checkGenerated(folder)).toEqual(['generated/schema.d.ts', 'generated/client.ts'])
  })

  test('makes the check exit with 1, naming each file and the command that mends it', async () => {
    const folder = await copyContract()
    expect(await runCheck(folder)).toEqual({ code: 0, stderr: '' })
    await replaceIn(
      join(folder, 'spec/paths/health/health.yaml'),
      'operationId: getHealth',
      'operationId: getWellbeing',
    )
    const { code, stderr } = await runCheck(folder)
    expect(code).toBe(1)
    for (const name of ['openapi.json', 'schema.d.ts', 'client.ts']) {
      expect(stderr).toContain(`generated/${name} does not match spec/: run \`npm run generate\``)
    }
  })

  test('cannot be made from a contract with a reference that leads nowhere', async () => {
    const folder = await copyContract()
    await rm(join(folder, 'spec/schemas/CreateModelRequest.yaml'))
    await expect(checkGenerated(folder)).rejects.toThrow('CreateModelRequest.yaml')
  })
})
