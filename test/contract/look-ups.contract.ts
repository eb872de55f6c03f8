/** What can be said of things by reading alone: of those given on the command line, else of those that the run made. */
import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { check, SkipError, section } from '../../src/contract/check.ts'
import type { Success } from '../../src/contract/client.ts'
import { walk } from './pages.ts'
import { client, home, target } from './setup.ts'
import { waitForJob } from './training-data.ts'

/** Files that are larger are not fetched, in bytes. */
const LARGEST_FILE = 4 * 1024 * 1024
/** The last event of a job that ended so. */
const LAST_EVENTS: Readonly<Record<string, string>> = {
  COMPLETED: 'training_ended',
  FAILED: 'training_failed',
  CANCELLED: 'training_failed',
}

section('Looking things up, of which a mock has none', { needs: ['memory'] }, () => {
  const version = (uri: string) => {
    const { 1: entity, 2: project, 3: name, 4: version } = /:\/{2,3}([^/]+)\/([^/]+)\/([^/]+):([^:]+)$/.exec(uri) ?? []
    if (!entity || !project || !name || !version) throw new Error(`${uri} is no URI of an artifact`)
    return { entity, project, name, version }
  }

  check('listModels/shows-a-model-as-it-is-alone', async () => {
    expect(await client.ok('getModel', { path: { model_id: home.id } })).toEqual(home)
    expect((await walk('listModels', {}, { limit: 100 })).filter(id => id === home.id)).toHaveLength(1)
  })

  check('listCheckpoints/names-an-artifact-version-for-each', async () => {
    const { data } = await client.ok('listCheckpoints', { path: { model_id: home.id }, query: { limit: 3 } })
    for (const { step, artifact } of data) {
      const path = version(artifact)
      const found = await client.ok('getArtifactVersion', { path })
      expect(found.aliases, artifact).toContain(`step${step}`)
      expect(found).toMatchObject({ entity: path.entity, project: path.project, name: path.name })
    }
  })

  check('getArtifactFile/gives-what-the-version-says-of-it', async () => {
    const { data } = await client.ok('listCheckpoints', { path: { model_id: home.id }, query: { limit: 1 } })
    const uri = target.given.artifact ?? data[0]?.artifact
    if (!uri) throw new SkipError('the model has no checkpoint')
    const path = version(uri)
    const { files, size_bytes } = await client.ok('getArtifactVersion', { path })
    expect(files.reduce((sum, file) => sum + file.size_bytes, 0)).toBe(size_bytes)
    for (const file of files.filter(one => one.size_bytes <= LARGEST_FILE)) {
      const { status, bytes } = await client.call('getArtifactFile', { path: { ...path, path: file.path } })
      expect(status, file.path).toBe(200)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      expect({ size_bytes: bytes.length, sha256 }, file.path).toEqual({
        size_bytes: file.size_bytes,
        sha256: file.sha256,
      })
    }
  })

  check(
    'getTrainingJob/agrees-with-its-list-and-its-events',
    { needs: ['job'], timeout: 2 * target.jobTimeoutMs },
    async () => {
      const job = await findJob()
      const path = { training_job_id: job.id }
      const query = job.model_id ? { model_id: job.model_id } : {}
      expect((await walk('listTrainingJobs', { query }, { ...query, limit: 100 })).filter(id => id === job.id)).toEqual(
        [job.id],
      )
      const { data } = await client.ok('listTrainingJobEvents', { path, query: { limit: 1, order: 'desc' } })
      const ids = await walk('listTrainingJobEvents', { path }, { limit: 100 })
      expect(ids.at(-1)).toBe(data[0]?.id)
      const last = LAST_EVENTS[job.status ?? '']
      if (last) expect(data[0]?.type).toBe(last)
    },
  )

  async function findJob(): Promise<Success<'getTrainingJob'>> {
    const { trainingJobId } = target.given
    if (trainingJobId) return client.ok('getTrainingJob', { path: { training_job_id: trainingJobId } })
    const body = { model_id: home.id, trajectory_groups: [] }
    return waitForJob((await client.ok('createRlTrainingJob', { body })).id)
  }
})
