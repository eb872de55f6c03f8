/** Writes the reports that were asked for. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { redactDeep } from '../redact.ts'
import type { ReportFiles, RunReport } from '../run-report.ts'
import { toBadge } from './badge.ts'
import { toJsonReport } from './json.ts'
import { toJUnit } from './junit.ts'
import { toPage } from './page.ts'

const FORMS: Record<keyof ReportFiles, (report: RunReport) => string> = {
  json: toJsonReport,
  junit: toJUnit,
  html: toPage,
  badge: toBadge,
}

/** Resolves with the paths written; folders are made. Throws what the file system says. */
export async function writeReports(report: RunReport, files: Partial<ReportFiles>): Promise<string[]> {
  const redacted = redactDeep(report)
  const written: string[] = []
  for (const [form, toText] of Object.entries(FORMS)) {
    const path = files[form as keyof ReportFiles]
    if (!path) continue
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, toText(redacted))
    written.push(path)
  }
  return written
}
