import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openTarget } from '../acceptance/target.ts'

const run = promisify(execFile)
const python = process.env.TRAINYARD_PYTHON ?? 'python3'
const LIMIT_MS = 300_000

/** Why the client cannot be driven here, or null. */
async function findObstacle(): Promise<string | null> {
  try {
    // the specification is looked up without importing, which would take seconds
    const { stdout } = await run(python, [
      '-c',
      'import importlib.util; print(importlib.util.find_spec("art.serverless"), importlib.util.find_spec("wandb"))',
    ])
    return stdout.includes('None') ? 'has not all of test/art/requirements.txt' : null
  } catch (error) {
    const { code, stderr } = error as { code?: number | string; stderr?: string }
    return code === 'ENOENT' ? 'is not there' : `says: ${stderr?.trim().split('\n').at(-1)}`
  }
}

const obstacle = await findObstacle()
if (obstacle)
  console.warn(
    `The tests against the ART client are skipped: ${python} ${obstacle} (TRAINYARD_PYTHON names another Python)`,
  )

describe.skipIf(obstacle)('the ART client', () => {
  it('registers a model, rolls out, trains three RL steps and deletes checkpoints', { timeout: LIMIT_MS }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'trainyard-art-'))
    const target = await openTarget({})
    try {
      const seen = await runClient(target.url, target.apiKey, folder)
      expect(seen).toMatchObject({ entity: 'default', first_step: 0, steps: [1, 2, 3], checkpoints: [0, 1, 2, 3] })
      expect(seen.kept).toContain(3)
      expect(seen.kept.length).toBeLessThan(4)
      expect(seen.rewards).toHaveLength(4)
      // three steps are few, and single ones may go astray
      expect(Math.max(...seen.rewards.slice(1))).toBeGreaterThan(seen.rewards[0]!)
      for (const metrics of seen.metrics) expect(Object.keys(metrics)).toContain('loss/train')
    } finally {
      await target.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})

interface Seen {
  rewards: number[]
  kept: number[]
  metrics: Record<string, number>[]
}

async function runClient(url: string, apiKey: string, cwd: string): Promise<Seen> {
  const { WANDB_API_KEY: _, ...environment } = process.env
  const { stdout } = await run(python, [join(import.meta.dirname, 'art_client.py')], {
    cwd,
    env: { ...environment, TRAINYARD_URL: url, TRAINYARD_API_KEY: apiKey },
    timeout: LIMIT_MS,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}
