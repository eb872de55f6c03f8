import { MODEL, MODEL_NAME } from './settings.ts'

/** The entry of the public router list, and what the service needs to know beside it. */
export const ROUTER = {
  id: MODEL_NAME,
  name: 'Trainyard: tiny-chat',
  /** Unix seconds: 1 January 2026. */
  created: 1_767_225_600,
  input_modalities: ['text'],
  output_modalities: ['text'],
  context_length: MODEL.contextLength,
  max_output_length: MODEL.contextLength,
  pricing: { prompt: '0', completion: '0', image: '0', request: '0', input_cache_read: '0' },
  supported_sampling_parameters: [
    ...['temperature', 'top_p', 'top_k', 'min_p', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'],
    ...['stop', 'seed', 'max_tokens', 'logit_bias'],
  ],
  supported_features: ['json_mode', 'structured_outputs', 'logprobs'],
  datacenters: [],
  deprecation_date: null,
  default_learning_rate: 1e-3,
}
