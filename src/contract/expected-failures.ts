/** Failures that are known: a file names the checks that may fail, and a run tells when one of them no longer does. */
import type { CheckResult } from './run-check.ts'

/** Reasons by check id; '' for none. */
export type ExpectedFailures = ReadonlyMap<string, string>

/**
 * Reads a line for each check: its id, then the reason if there is one, with or without `#` before it. Lines that
 * begin with `#` are comments. Throws where a line names a check that `known` does not have, or one twice: a misspelt
 * id would expect nothing.
 */
export function parseExpectedFailures(text: string, known: ReadonlySet<string>): ExpectedFailures {
  const expected = new Map<string, string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const { 1: id, 2: reason = '' } = /^(\S+)(?:\s+(?:#\s*)?(.*))?$/.exec(line.trim()) ?? []
    if (id === undefined || id.startsWith('#')) continue
    if (!known.has(id)) throw new Error(`Line ${index + 1} of the expected failures names no check: ${id}`)
    if (expected.has(id)) throw new Error(`Line ${index + 1} of the expected failures names ${id} again`)
    expected.set(id, reason)
  }
  return expected
}

/** The results, with the reason at those that are expected to fail. */
export function markExpected(results: readonly CheckResult[], expected: ExpectedFailures): CheckResult[] {
  return results.map(result => {
    const reason = expected.get(result.id)
    return reason === undefined ? result : { ...result, expectedFailure: reason }
  })
}
