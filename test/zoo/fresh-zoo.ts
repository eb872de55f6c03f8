/** A third zoo from the interface and the contract alone, written when the suite was done, by someone who had not read it. */
import type { Fault } from './fault.ts'
import { freshArtifactFaults } from './fresh-zoo-artifacts.ts'
import { freshChatFaults } from './fresh-zoo-chat.ts'
import { freshModelFaults } from './fresh-zoo-models.ts'
import { freshScorerFaults } from './fresh-zoo-scorers.ts'
import { freshStreamFaults } from './fresh-zoo-streams.ts'
import { freshTeamFaults, freshUsageFaults } from './fresh-zoo-teams.ts'
import { freshTrainingFaults } from './fresh-zoo-training.ts'
import { freshWebhookFaults } from './fresh-zoo-webhooks.ts'

export const freshZoo: Fault[] = [
  ...freshChatFaults,
  ...freshStreamFaults,
  ...freshTrainingFaults,
  ...freshModelFaults,
  ...freshArtifactFaults,
  ...freshScorerFaults,
  ...freshWebhookFaults,
  ...freshTeamFaults,
  ...freshUsageFaults,
]
