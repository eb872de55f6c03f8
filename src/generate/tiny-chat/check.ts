import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { WEIGHTS_FILE } from '../../onnx/weights.ts'
import { packageRoot } from '../package-paths.ts'
import { createModelSources, DIGEST_FILE, type Digest, GENERATE_COMMAND, GENERATE_FILES_COMMAND } from './sources.ts'

export const TINY_CHAT_FOLDER = join(packageRoot, 'generated', 'tiny-chat')

/**
 * What in the folder no longer comes from today's sources, one message each with the command that mends it; none when all
 * is well. The weights themselves are not compared, only what they were trained from.
 */
export async function checkTinyChat(folder = TINY_CHAT_FOLDER): Promise<string[]> {
  const { files, digest } = createModelSources()
  const recorded = readDigest(join(folder, DIGEST_FILE))
  const outdated: string[] = (['generator', 'corpus', 'tokenizer'] as const)
    .filter(part => recorded?.[part] !== digest[part])
    .map(part => `the weights were trained with another ${part}`)
  if (!existsSync(join(folder, WEIGHTS_FILE))) outdated.push(`${WEIGHTS_FILE} is missing`)
  if (outdated.length > 0) return outdated.map(message => toAdvice(message, GENERATE_COMMAND))
  return Object.entries(files)
    .filter(([name, text]) => readText(join(folder, name)) !== text)
    .map(([name]) => toAdvice(`${name} is not what the generator writes`, GENERATE_FILES_COMMAND))
}

const toAdvice = (message: string, command: string) =>
  `generated/tiny-chat: ${message}: run \`${command}\` and commit the result`

const readText = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : null)

function readDigest(path: string): Partial<Digest> | null {
  const text = readText(path)
  if (text === null) return null
  try {
    return JSON.parse(text) as Partial<Digest>
  } catch {
    return null
  }
}
