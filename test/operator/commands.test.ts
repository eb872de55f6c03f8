import { execFile } from 'node:child_process'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requirePaidPlan } from '../../src/plan.ts'
import { createDataDir, startTestServer, type TestServer, until } from '../server/start.ts'

const CLI = join(import.meta.dirname, '../../src/cli.ts')

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ runJobs: false })
})
afterAll(() => server.close())

interface Ended {
  code: number
  stdout: string
  stderr: string
}

function run(args: string[], dataDir = server.dataDir): Promise<Ended> {
  const { FORCE_COLOR: _, ...environment } = process.env
  const options = { env: { ...environment, DATA_DIR: dataDir, NO_COLOR: '1' } }
  return new Promise(resolve => {
    execFile(process.execPath, [CLI, ...args], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}

/** What it printed, of a command that must succeed. */
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args)
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

const refusal = (stderr: string) => ({ code: 1, stdout: '', stderr: `${stderr}\n` })

describe('keys', () => {
  test('are listed without the keys themselves, and revoked while the server runs', async () => {
    const [ann, bob] = [await server.addKey('ann', 'lab'), await server.addKey('bob-with-a-long-name', 'lab')]
    const lines = (await done('keys', 'list', '--team', 'lab')).trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/^ID {36}USER {18}TEAM {2}NAME {2}CREATED$/)
    expect(lines[1]!.indexOf('lab')).toBe(lines[0]!.indexOf('TEAM'))
    expect(lines[2]!.indexOf('lab')).toBe(lines[0]!.indexOf('TEAM'))
    expect(lines.join('\n')).not.toContain(ann)
    const [id] = lines[1]!.split(' ')
    expect((await server.call('/v1/models', { key: ann })).status).toBe(200)
    expect(await done('keys', 'revoke', id!)).toBe(`Revoked ${id}\n`)
    await until(
      async () => (await server.call('/v1/models', { key: ann })).status,
      status => status === 401,
    )
    expect((await server.call('/v1/models', { key: bob })).status).toBe(200)
    expect(await done('keys', 'list', '--user', 'ann')).not.toContain('lab')
  })

  test('are all revoked or none', async () => {
    const key = await server.addKey('carl', 'lab')
    const [, line] = (await done('keys', 'list', '--user', 'carl')).split('\n')
    const [id] = line!.split(' ')
    expect(await run(['keys', 'revoke', id!, 'none'])).toEqual(refusal('There is no key with the id none'))
    expect((await server.call('/v1/models', { key })).status).toBe(200)
  })

  test('a further key leaves a role as it is, and the last admin is not demoted by one', async () => {
    await done('keys', 'create', '--user', 'dora', '--team', 'solo', '--role', 'admin')
    await done('keys', 'create', '--user', 'dora', '--team', 'solo')
    expect(await done('teams', 'members', 'solo')).toMatch(/dora +admin/)
    const { code, stderr } = await run(['keys', 'create', '--user', 'dora', '--team', 'solo', '--role', 'member'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('dora is the last admin of team solo')])
    expect((await done('keys', 'list', '--user', 'dora')).trimEnd().split('\n')).toHaveLength(3)
  })

  test.each([
    ['a/b', 'lab', 'user'],
    ['ann', 'a/b', 'team'],
    ['..', 'lab', 'user'],
    ['', 'lab', 'user'],
  ])('of the user "%s" and the team "%s" are refused: no path could name the %s', async (user, team, what) => {
    const { code, stderr } = await run(['keys', 'create', '--user', user, '--team', team])
    expect([code, stderr]).toEqual([1, expect.stringContaining(`cannot be the name of a ${what}`)])
  })
})

describe('teams', () => {
  test('are made once, with a plan and an admin, and listed', async () => {
    expect(await done('teams', 'create', 'new', '--plan', 'free', '--admin', 'ann')).toBe('Made the team new\n')
    expect(await run(['teams', 'create', 'new'])).toEqual(refusal('The team new exists already'))
    await done('teams', 'create', 'empty')
    const text = await done('teams', 'list')
    expect(text).toMatch(/^TEAM +PLAN +MEMBERS +CREATED$/m)
    expect(text).toMatch(/^new +free +1 /m)
    expect(text).toMatch(/^empty +paid +0 /m)
    expect(await done('teams', 'members', 'new')).toMatch(/^ann +admin$/m)
  })

  test('a plan counts at once, for a server that runs', async () => {
    const { database } = server.service
    await server.addKey('ann', 'payer')
    await requirePaidPlan(database, 'payer')
    expect(await done('teams', 'set-plan', 'payer', 'free')).toBe('The plan of team payer is free\n')
    await expect(requirePaidPlan(database, 'payer')).rejects.toMatchObject({ status: 403, code: 'plan_too_low' })
    await done('teams', 'set-plan', 'payer', 'paid')
    await requirePaidPlan(database, 'payer')
    await expect(requirePaidPlan(database, 'no-such-team')).rejects.toMatchObject({ status: 403 })
  })

  test('members get roles, and leave with their keys', async () => {
    const key = await server.addKey('eve', 'crew')
    const grants = ['--project-admin', 'p1', 'p2', '--registry-admin', 'r1']
    expect(await done('teams', 'set-member', 'crew', 'eve', '--role', 'admin', ...grants)).toBe(
      'eve is an admin of team crew\n',
    )
    expect(await done('teams', 'members', 'crew')).toMatch(/^eve +admin +p1, p2 +r1$/m)
    expect((await run(['teams', 'remove-member', 'crew', 'eve'])).stderr).toContain('eve is the last admin')
    await done('teams', 'set-member', 'crew', 'fay', '--role', 'admin')
    expect(await done('teams', 'remove-member', 'crew', 'eve')).toBe(
      'eve is no longer a member of team crew; keys revoked: 1\n',
    )
    await until(
      async () => (await server.call('/v1/models', { key })).status,
      status => status === 401,
    )
  })

  test.each([
    [['set-plan', 'none', 'free'], 'There is no team none'],
    [['members', 'none'], 'There is no team none'],
    [['set-member', 'none', 'ann'], 'There is no team none'],
    [['remove-member', 'default', 'none'], 'none is not a member of a team default'],
  ])('%j says what is not there', async (args, message) => {
    expect(await run(['teams', ...args])).toEqual(refusal(message))
  })

  test('an unknown plan is refused with those that there are', async () => {
    const { code, stderr } = await run(['teams', 'set-plan', 'default', 'gold'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('free, paid')])
  })
})

test('a folder without a database is named, and stays empty', async () => {
  const folder = await createDataDir()
  try {
    for (const args of [
      ['keys', 'list'],
      ['teams', 'list'],
      ['secrets', 'rotate'],
      ['keys', 'revoke', 'x'],
    ]) {
      const { code, stderr } = await run(args, folder)
      expect([code, stderr]).toEqual([1, expect.stringContaining(`There is no database in ${folder}: set DATA_DIR`)])
    }
    expect(await readdir(folder)).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test.each([
  [['--help'], 'keys'],
  [['keys', '--help'], 'revoke'],
  [['teams', '--help'], 'set-plan'],
  [['secrets', 'rotate', '--help'], 'SECRETS_OLD_KEYS'],
])('%j tells what there is', async (args, text) => {
  expect(await done(...args)).toContain(text)
})
