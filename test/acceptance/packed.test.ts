/** The package as a stranger has it: unpacked in an empty folder, beside what it depends on and nothing else. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type InProcess, startInProcess } from '../contract/in-process.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
/** Compiling everything takes long on a small machine. */
const BUILD_LIMIT_MS = 300_000
const RUN_LIMIT_MS = 120_000

let folder: string
let service: InProcess

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'packed-'))
  await unpack(await pack(join(folder, 'checkout')), join(folder, 'user/node_modules'))
  service = await startInProcess()
}, BUILD_LIMIT_MS)

afterAll(async () => {
  await service?.close()
  await rm(folder, { recursive: true, force: true })
})

/** Builds in a copy, so that nothing of this checkout changes. */
async function pack(checkout: string): Promise<string> {
  await mkdir(checkout)
  for (const name of ['package.json', 'tsconfig.json', 'src', 'test', 'generated', 'spec', 'README.md', 'LICENSE'])
    await cp(join(root, name), join(checkout, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'))
  await run(join(root, 'node_modules/.bin/tsc'), ['--project', 'src/tsconfig.build.json'], { cwd: checkout })
  await run('npm', ['pack', '--ignore-scripts'], { cwd: checkout })
  const archive = (await readdir(checkout)).find(name => name.endsWith('.tgz'))
  return join(checkout, archive!)
}

async function unpack(archive: string, modules: string): Promise<void> {
  await mkdir(modules, { recursive: true })
  await run('tar', ['-xzf', archive, '-C', modules])
  await run('mv', [join(modules, 'package'), join(modules, 'trainyard')])
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of Object.keys(dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
}

async function trainyard(args: string[], flags: string[] = []): Promise<{ code: number; text: string }> {
  const command = [...flags, 'node_modules/trainyard/dist/src/bin.js', ...args]
  const cwd = join(folder, 'user')
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state') }
  return new Promise(resolve => {
    execFile(process.execPath, command, { cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, text: stdout + stderr })
    })
  })
}

describe('the packed contract suite', () => {
  it(
    'finds nothing wrong with our own service, and writes its reports',
    async () => {
      const { baseUrl, apiKey } = service.target
      const args = ['contract', '--base-url', baseUrl, '--api-key', apiKey, '--tag', 'health', '--tag', 'models']
      const { code, text } = await trainyard([...args, '--html', 'report.html', '--json', 'report.json'])
      expect({ code, text }).toEqual({ code: 0, text: expect.stringMatching(/\d+ checks: .*\d+ pass; \d+ requests/) })
      expect(await readFile(join(folder, 'user/report.html'), 'utf8')).toMatch(/^<!doctype html>/i)
      const { results } = JSON.parse(await readFile(join(folder, 'user/report.json'), 'utf8')) as { results: unknown[] }
      expect(results.length).toBeGreaterThan(100)
    },
    RUN_LIMIT_MS,
  )

  it(
    'fails a broken service',
    async () => {
      const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
      await new Promise(resolve => server.once('listening', resolve))
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { code, text } = await trainyard(['contract', '--base-url', url, '--api-key', 'a-key', '--tag', 'health'])
      server.closeAllConnections()
      server.close()
      expect({ code, text }).toEqual({ code: 1, text: expect.stringMatching(/fail getSystemCheck\//) })
    },
    RUN_LIMIT_MS,
  )

  it('tells an old Node what it needs', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })`
    const { code, text } = await trainyard(['contract', '--help'], ['--import', `data:text/javascript,${pretend}`])
    expect(code).toBe(2)
    expect(text).toMatch(
      /needs Node 24\.18 or newer, and this is 20\.20\.2.*\n {2}npx -p node@26 .* trainyard contract\n/,
    )
  })

  it('tells how to bring a newer Node along', async () => {
    const { code, text } = await trainyard(['contract', '--help'])
    expect({ code, text }).toEqual({ code: 0, text: expect.stringContaining('npx -p node@26 -p ./trainyard.tgz') })
  })
})
