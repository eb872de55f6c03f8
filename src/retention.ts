import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { freeContents } from './artifacts/collect.ts'
import { SPOOL_FOLDER } from './body.ts'
import type { Service } from './context.ts'
import { deleteOldDeliveries, deleteOldEvents, deleteOldExecutions, deleteOldLogs } from './storage/retention.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SWEEP_MS = HOUR_MS

/** How many of each were deleted. */
export interface Swept {
  trajectoryLogs: number
  deliveries: number
  executions: number
  trainingEvents: number
  spoolFiles: number
}

/** Deletes what the RETAIN_ settings no longer keep: when it starts, and every hour. */
export class Retention {
  #service: Pick<Service, 'settings' | 'database' | 'artifacts' | 'log'>
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(service: Pick<Service, 'settings' | 'database' | 'artifacts' | 'log'>) {
    this.#service = service
  }

  start(): void {
    this.#run()
    this.#timer = setInterval(() => this.#run(), SWEEP_MS).unref()
  }

  /** Ends after the batch that is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#timer) clearInterval(this.#timer)
    await this.#running
  }

  /** Deletes what is past its time, and logs how much it was. */
  async sweep(now: number = Date.now()): Promise<Swept> {
    const { settings, database, artifacts, log } = this.#service
    const swept: Swept = {
      trajectoryLogs: await this.#repeat(toTime(now, settings.retainTrajectoriesDays), async before => {
        const { count, contents } = await deleteOldLogs(database, before)
        await freeContents({ database, artifacts }, contents)
        return count
      }),
      deliveries: await this.#repeat(toTime(now, settings.retainDeliveriesDays), before =>
        deleteOldDeliveries(database, before),
      ),
      executions: await this.#repeat(toTime(now, settings.retainEventsDays), before =>
        deleteOldExecutions(database, before),
      ),
      trainingEvents: await this.#repeat(toTime(now, settings.retainEventsDays), before =>
        deleteOldEvents(database, before),
      ),
      spoolFiles: await deleteOldFiles(join(settings.dataDir, SPOOL_FOLDER), now - settings.retainSpoolHours * HOUR_MS),
    }
    if (Object.values(swept).some(count => count > 0)) log.info(swept, 'deleted what was past its time')
    return swept
  }

  #run(): void {
    this.#running = this.#running.then(async () => {
      if (this.#isStopped) return
      await this.sweep().catch(error => this.#service.log.warn({ error }, 'what is past its time was not deleted'))
    })
  }

  /** Runs batches until one deletes nothing; a time of null keeps all. */
  async #repeat(before: Date | null, deleteBatch: (before: Date) => Promise<number>): Promise<number> {
    if (!before) return 0
    let sum = 0
    while (!this.#isStopped) {
      const count = await deleteBatch(before)
      if (count === 0) break
      sum += count
      await nextTurn()
    }
    return sum
  }
}

/** Null: things are kept forever. */
function toTime(now: number, days: number): Date | null {
  return days === 0 ? null : new Date(Math.max(now - days * DAY_MS, 0))
}

async function deleteOldFiles(folder: string, before: number): Promise<number> {
  let count = 0
  for (const name of await readdir(folder)) {
    const file = join(folder, name)
    // Null: its request ended just now.
    const found = await stat(file).catch(() => null)
    if (!found || found.mtimeMs >= before) continue
    await rm(file, { force: true })
    count++
  }
  return count
}
