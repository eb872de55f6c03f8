/** The first zoo: written with the suite at hand, from what other tools were measured with and from the contract. */
import type { Fault } from './fault.ts'
import { artifactFileFaults } from './first-zoo-artifact-files.ts'
import { artifactFaults } from './first-zoo-artifacts.ts'
import { authFaults } from './first-zoo-auth.ts'
import { automationEventFaults } from './first-zoo-automation-events.ts'
import { bodyFaults } from './first-zoo-bodies.ts'
import { broadFaults } from './first-zoo-broad.ts'
import { chatFaults } from './first-zoo-chat.ts'
import { chatStreamDetailFaults } from './first-zoo-chat-chunks.ts'
import { chatDetailFaults } from './first-zoo-chat-details.ts'
import { chatFieldFaults } from './first-zoo-chat-fields.ts'
import { chatMeaningFaults } from './first-zoo-chat-meanings.ts'
import { chatRequestFaults } from './first-zoo-chat-requests.ts'
import { errorFaults } from './first-zoo-errors.ts'
import { inferenceModelFaults } from './first-zoo-inference-models.ts'
import { jobRecordFaults } from './first-zoo-job-records.ts'
import { jobRequestFaults } from './first-zoo-job-requests.ts'
import { listFaults } from './first-zoo-lists.ts'
import { modelFaults } from './first-zoo-models.ts'
import { oddArtifactFaults } from './first-zoo-odd-artifacts.ts'
import { linkFaults, scorerOwnerFaults } from './first-zoo-odd-links.ts'
import { otherTeamFaults } from './first-zoo-other-teams.ts'
import { roleFaults } from './first-zoo-roles.ts'
import { runRecordFaults } from './first-zoo-run-records.ts'
import { scorerFaults, usageFaults } from './first-zoo-scorers.ts'
import { streamContentFaults } from './first-zoo-stream-contents.ts'
import { streamFaults } from './first-zoo-streams.ts'
import { teamFaults } from './first-zoo-teams.ts'
import { trainingFaults } from './first-zoo-training.ts'
import { changeTimeFaults, usageLineFaults } from './first-zoo-usage-lines.ts'
import { validationFaults } from './first-zoo-validation.ts'
import { webhookRuleFaults } from './first-zoo-webhook-rules.ts'
import { webhookFaults } from './first-zoo-webhooks.ts'

export const faults: readonly Fault[] = [
  ...broadFaults,
  ...bodyFaults,
  ...errorFaults,
  ...validationFaults,
  ...authFaults,
  ...listFaults,
  ...modelFaults,
  ...artifactFaults,
  ...artifactFileFaults,
  ...scorerFaults,
  ...usageFaults,
  ...chatFaults,
  ...chatRequestFaults,
  ...chatFieldFaults,
  ...chatDetailFaults,
  ...chatMeaningFaults,
  ...chatStreamDetailFaults,
  ...inferenceModelFaults,
  ...streamFaults,
  ...streamContentFaults,
  ...trainingFaults,
  ...jobRequestFaults,
  ...jobRecordFaults,
  ...runRecordFaults,
  ...webhookFaults,
  ...teamFaults,
  ...automationEventFaults,
  ...webhookRuleFaults,
  ...roleFaults,
  ...otherTeamFaults,
  ...oddArtifactFaults,
  ...linkFaults,
  ...scorerOwnerFaults,
  ...usageLineFaults,
  ...changeTimeFaults,
]
