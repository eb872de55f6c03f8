/** Deployments broken in ways that were taken from the interface and the contract alone, with no look at the suite. */
import type { Fault } from './fault.ts'
import { artifactFaults } from './held-out-zoo-artifacts.ts'
import { chatFaults } from './held-out-zoo-chat.ts'
import { chatRequestFaults } from './held-out-zoo-chat-requests.ts'
import { deliveryFaults } from './held-out-zoo-deliveries.ts'
import { authFaults, errorFaults } from './held-out-zoo-errors.ts'
import { listFaults } from './held-out-zoo-lists.ts'
import { modelFaults } from './held-out-zoo-models.ts'
import { scorerFaults } from './held-out-zoo-scorers.ts'
import { streamFaults } from './held-out-zoo-streams.ts'
import { teamFaults, usageFaults } from './held-out-zoo-teams.ts'
import { trainingFaults } from './held-out-zoo-training.ts'
import { automationFaults, webhookFaults } from './held-out-zoo-webhooks.ts'

export const heldOutZoo: Fault[] = [
  ...chatFaults,
  ...chatRequestFaults,
  ...streamFaults,
  ...modelFaults,
  ...trainingFaults,
  ...artifactFaults,
  ...scorerFaults,
  ...teamFaults,
  ...usageFaults,
  ...listFaults,
  ...errorFaults,
  ...authFaults,
  ...deliveryFaults,
  ...webhookFaults,
  ...automationFaults,
]
