/** What the contract says about fields of requests in words only, so that no schema tells which values are sure to be accepted. */
import type { OperationId } from '../../src/contract/client.ts'
import type { FieldRules } from '../../src/contract/derive/derived-case.ts'

const uncertain = { isUncertain: true }

const chat: FieldRules = {
  // Capped by the deployment.
  'messages.*.content.*': uncertain,
  n: uncertain,
  top_logprobs: { beside: { logprobs: true }, isUncertain: true },
  prompt_logprobs: uncertain,
  // Rules between fields.
  min_tokens: uncertain,
  stream_options: { beside: { stream: true } },
  structured_outputs: uncertain,
  response_format: uncertain,
  repetition_detection: uncertain,
  continue_final_message: uncertain,
  truncate_prompt_tokens: uncertain,
  tools: uncertain,
  // Within the vocabulary and the context of the model.
  allowed_token_ids: uncertain,
  stop_token_ids: uncertain,
  logit_bias: uncertain,
  max_tokens: uncertain,
  max_completion_tokens: uncertain,
  bad_words: uncertain,
  // The operator's choice.
  chat_template: uncertain,
  chat_template_kwargs: uncertain,
  priority: uncertain,
  // Refused by name.
  engine_xargs: uncertain,
  kv_transfer_params: uncertain,
  mm_processor_kwargs: uncertain,
  // Limits in words.
  cache_salt: uncertain,
  request_id: uncertain,
}

/** Data that cannot be trained on is a 422. */
const trajectories: FieldRules = {
  'trajectory_groups.*.trajectories.*.messages_and_choices': uncertain,
  'trajectory_groups.*.trajectories.*.additional_histories': uncertain,
}

const RULES: Partial<Record<OperationId, FieldRules>> = {
  createChatCompletion: chat,
  createChatCompletionSlash: chat,
  createRlTrainingJob: {
    ...trajectories,
    'experimental_config.vendor_k2_tau': uncertain,
    'experimental_config.kimi_k2_tau': uncertain,
  },
  logTrajectories: trajectories,
  getUsage: { from: uncertain, to: uncertain },
}

export function fieldRulesOf(id: OperationId): FieldRules {
  return RULES[id] ?? {}
}
