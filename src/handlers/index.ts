import type { Handlers } from '../spec/handler.ts'
import * as apiKeys from './api-keys.ts'
import * as artifacts from './artifacts.ts'
import * as automations from './automations.ts'
import * as chat from './chat.ts'
import * as health from './health.ts'
import * as models from './models.ts'
import * as registries from './registries.ts'
import * as router from './router.ts'
import * as runs from './runs.ts'
import * as scorers from './scorers.ts'
import * as secrets from './secrets.ts'
import * as teams from './teams.ts'
import * as trainingJobs from './training-jobs.ts'
import { listTrajectories, logTrajectories } from './trajectory-log.ts'
import * as usage from './usage.ts'
import * as webhooks from './webhooks.ts'

const { requireModel: _, ...modelHandlers } = models

/** One handler for each operation of the contract: a missing one does not compile. */
export const handlers: Handlers = {
  ...health,
  ...router,
  ...modelHandlers,
  logTrajectories,
  listTrajectories,
  ...trainingJobs,
  ...artifacts,
  ...registries,
  ...runs,
  ...scorers,
  ...chat,
  ...usage,
  ...teams,
  ...secrets,
  ...apiKeys,
  ...automations,
  ...webhooks,
}
