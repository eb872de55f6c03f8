/** The files of a Hugging Face model folder that are fixed by the settings and the tokenizer: all but the weights. */
import type { BytePairs } from './byte-pairs.ts'
import { CHAT_TEMPLATE } from './chat-template.ts'
import { ROUTER } from './router.ts'
import { END_OF_TEXT, MODEL, SPECIAL_TOKENS, TURN_END } from './settings.ts'

const toJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const toConfig = () => ({
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: MODEL.hiddenSize,
  intermediate_size: MODEL.feedForwardSize,
  num_hidden_layers: MODEL.layers,
  num_attention_heads: MODEL.heads,
  num_key_value_heads: MODEL.keyValueHeads,
  head_dim: MODEL.headSize,
  vocab_size: MODEL.vocabularySize,
  max_position_embeddings: MODEL.contextLength,
  rope_theta: MODEL.ropeTheta,
  rms_norm_eps: MODEL.normEpsilon,
  hidden_act: 'silu',
  tie_word_embeddings: true,
  attention_bias: false,
  mlp_bias: false,
  bos_token_id: null,
  eos_token_id: TURN_END,
  pad_token_id: END_OF_TEXT,
  torch_dtype: 'bfloat16',
})

const toAddedTokens = () =>
  SPECIAL_TOKENS.map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }))

const toTokenizer = (pairs: BytePairs) => ({
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: toAddedTokens(),
  normalizer: null,
  pre_tokenizer: {
    type: 'Sequence',
    pretokenizers: [
      { type: 'Digits', individual_digits: true },
      { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true },
    ],
  },
  post_processor: null,
  decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: {
    type: 'BPE',
    dropout: null,
    unk_token: null,
    continuing_subword_prefix: null,
    end_of_word_suffix: null,
    fuse_unk: false,
    byte_fallback: false,
    ignore_merges: false,
    vocab: Object.fromEntries(pairs.vocabulary),
    merges: pairs.merges,
  },
})

const toTokenizerConfig = () => ({
  tokenizer_class: 'PreTrainedTokenizerFast',
  model_max_length: MODEL.contextLength,
  bos_token: null,
  eos_token: SPECIAL_TOKENS[TURN_END],
  pad_token: SPECIAL_TOKENS[END_OF_TEXT],
  unk_token: null,
  add_bos_token: false,
  add_eos_token: false,
  clean_up_tokenization_spaces: false,
  added_tokens_decoder: Object.fromEntries(toAddedTokens().map(({ id, ...token }) => [id, token])),
  chat_template: CHAT_TEMPLATE,
})

/** File name to content. */
export function toModelFiles(pairs: BytePairs): Record<string, string> {
  return {
    'config.json': toJson(toConfig()),
    'generation_config.json': toJson({
      bos_token_id: null,
      eos_token_id: TURN_END,
      pad_token_id: END_OF_TEXT,
      do_sample: true,
      temperature: 1,
    }),
    'tokenizer.json': `${JSON.stringify(toTokenizer(pairs), null, 1)}\n`,
    'tokenizer_config.json': toJson(toTokenizerConfig()),
    'trainyard.json': toJson(ROUTER),
  }
}
