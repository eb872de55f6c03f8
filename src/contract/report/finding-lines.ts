/** What went against the contract, in words. */
import type { Finding } from '../coverage.ts'
import { toSpecLine } from '../spec-line.ts'

/** One line for each distinct finding, with how often it was seen. */
export function toFindingLines(findings: readonly Finding[]): string[] {
  const seen = new Map<string, number>()
  for (const { check, status, instancePath, message, pointer } of findings) {
    const line = `${check} (${status}) at ${instancePath || 'the whole'}: ${message} [${toSpecLine(pointer)}]`
    seen.set(line, (seen.get(line) ?? 0) + 1)
  }
  return [...seen].map(([line, times]) => (times > 1 ? `${line}, ${times} times` : line))
}
