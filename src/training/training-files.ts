/** Which files of an SFT artifact are its training data. */
import { DataError } from './engine.ts'
import { isObject } from './json-values.ts'

/** The name that the interface documents, then the one that its clients really upload. */
const TRAINING_FILES = ['trajectories.jsonl', 'train.jsonl']
export const METADATA_FILE = 'metadata.json'

/**
 * The training file among an artifact version's paths: trajectories.jsonl, else train.jsonl, else the only *.jsonl.
 * Throws DataError with loc ['training_data_url'].
 */
export function selectTrainingFile(paths: readonly string[]): string {
  const named = TRAINING_FILES.find(name => paths.includes(name))
  if (named !== undefined) return named
  const others = paths.filter(path => path.endsWith('.jsonl'))
  if (others.length === 1) return others[0]!
  const found = others.length === 0 ? 'it holds no .jsonl file' : `it holds ${others.length} .jsonl files`
  throw new DataError(['training_data_url'], `the artifact must hold ${TRAINING_FILES.join(' or ')}, but ${found}`)
}

/** The metadata file may be missing; where it is there, it must hold a JSON object. Throws DataError. */
export function checkMetadata(text: string): void {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new DataError([METADATA_FILE], `is not JSON: ${(error as Error).message}`)
  }
  if (!isObject(value)) throw new DataError([METADATA_FILE], 'must hold a JSON object')
}
