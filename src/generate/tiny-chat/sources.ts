/** Everything that tiny-chat is made from, short of the training itself; quick and the same on every machine. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BytePairs, trainBytePairs } from './byte-pairs.ts'
import { type Conversation, createSampleCorpus } from './corpus/conversation.ts'
import { toModelFiles } from './model-files.ts'
import { CORPUS_SEED, MODEL, SAMPLE_CONVERSATIONS } from './settings.ts'

/** SHA-256 of what the weights are made from, in hex. The weights have none: their last bits depend on the processor. */
export interface Digest {
  generator: string
  corpus: string
  tokenizer: string
}

export interface ModelSources {
  pairs: BytePairs
  /** File name to content: the model folder without weights and digest. */
  files: Record<string, string>
  digest: Digest
}

/** The command that writes generated/tiny-chat, and the one that writes all of it but the weights. */
export const GENERATE_COMMAND = 'npm run generate:model'
export const GENERATE_FILES_COMMAND = 'npm run generate:model -- --files'
export const DIGEST_FILE = 'digest.json'

/** Sources that have no part in the weights. */
const NOT_HASHED = ['check.ts', 'generate.ts', 'model-files.ts', 'progress.ts', 'router.ts', 'sources.ts']

export function createModelSources(): ModelSources {
  const corpus = createSampleCorpus(CORPUS_SEED, SAMPLE_CONVERSATIONS)
  const pairs = trainBytePairs(toTexts(corpus), MODEL.vocabularySize)
  const files = toModelFiles(pairs)
  return {
    pairs,
    files,
    digest: {
      generator: toGeneratorHash(import.meta.dirname),
      corpus: toHash(JSON.stringify(corpus)),
      tokenizer: toHash(files['tokenizer.json']!),
    },
  }
}

const toTexts = (corpus: Conversation[]) => corpus.flatMap(({ messages }) => messages.map(message => message.content))

const toHash = (text: string) => createHash('sha256').update(text).digest('hex')

/** Names and texts of the sources in a fixed order, whatever line ends the checkout has. */
function toGeneratorHash(folder: string): string {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(path => path.replaceAll('\\', '/'))
    .filter(path => path.endsWith('.ts') && !NOT_HASHED.includes(path))
    .sort()
  return toHash(
    paths.map(path => `${path}\n${readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n')}`).join('\n'),
  )
}
