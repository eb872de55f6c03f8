import type { Handlers } from '../spec/handler.ts'
import * as artifacts from './artifacts.ts'
import * as chat from './chat.ts'
import * as health from './health.ts'
import * as models from './models.ts'
import * as router from './router.ts'
import * as scorers from './scorers.ts'
import * as trainingJobs from './training-jobs.ts'
import { logTrajectories } from './trajectory-log.ts'
import * as usage from './usage.ts'
import * as webhooks from './webhooks.ts'

const { requireModel: _, ...modelHandlers } = models

/** One handler for each operation of the contract: a missing one does not compile. */
export const handlers: Handlers = {
  ...health,
  ...router,
  ...modelHandlers,
  logTrajectories,
  ...trainingJobs,
  ...artifacts,
  ...scorers,
  ...chat,
  ...usage,
  ...webhooks,
}
