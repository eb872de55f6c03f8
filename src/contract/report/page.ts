/** The report as one page that needs nothing from elsewhere: it can be mailed, kept, and opened without a network. */
import { createHash } from 'node:crypto'
import { operations } from '../../spec/document.ts'
import type { RunReport } from '../run-report.ts'
import { toSpecLine } from '../spec-line.ts'
import { type CoverageMatrix, toCoverageMatrix, toCoverageSummary } from './coverage-matrix.ts'
import { escapeMarkup } from './markup.ts'
import { failsRun, OUTCOME_NAMES, OUTCOMES, type Outcome, toCountsText } from './outcome.ts'
import { toChecks, toFilters } from './page-checks.ts'
import { SCRIPT } from './page-script.ts'
import { STYLE } from './page-style.ts'

/** Nothing is loaded or sent, and no script runs but ours, whatever a deployment has answered. */
const POLICY = `default-src 'none'; img-src data:; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}`

export function toPage(report: RunReport): string {
  const { target, results, left, stopped } = report
  const failed = results.filter(failsRun).length
  const state =
    failed > 0 ? `${failed} of ${results.length} checks failed` : stopped === null ? 'No check failed' : 'Not finished'
  const matrix = toCoverageMatrix(operations, report, report.profile)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trainyard contract: ${escapeMarkup(`${state}, ${target.baseUrl}`)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#checks">Go to the checks</a>
<header>
<h1>Trainyard contract</h1>
<p class="state ${failed > 0 ? 'is-fail' : stopped === null ? 'is-pass' : 'is-warn'}">${escapeMarkup(state)}</p>
${toFacts(report)}
${stopped === null ? '' : `<p class="is-warn">The run ended before its last check: ${escapeMarkup(stopped)}</p>`}
<nav aria-label="Parts of the report"><a href="#checks">Checks</a> · <a href="#coverage">Coverage</a> ·
<a href="#left">Left behind</a> · <a href="#verdicts">What each verdict means</a></nav>
</header>
<main>
<h2 id="checks" tabindex="-1">Checks</h2>
${toFilters(results)}
${toChecks(results)}
<h2 id="coverage">Coverage</h2>
<p>${toCoverageSummary(matrix)}.</p>
${toTable(matrix)}
${toNotReached(matrix)}
<h2 id="left">Left behind</h2>
${left.length === 0 ? '<p>Nothing.</p>' : `<ul>${left.map(line => `<li>${escapeMarkup(line)}</li>`).join('')}</ul>`}
<h2 id="verdicts">What each verdict means, and how to act</h2>
<dl class="legend">${OUTCOME_NAMES.map(toMeaning).join('')}</dl>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`
}

function toFacts({ target, profile, runId, startedAt, durationMs, requests, results }: RunReport): string {
  const facts = {
    Deployment: target.baseUrl,
    Inference: target.inferenceUrl,
    Model: target.baseModel,
    Profile: profile,
    Checks: toCountsText(results),
    Requests: String(requests),
    Time: `${(durationMs / 1000).toFixed(1)} s`,
    Started: startedAt,
    Run: runId,
  }
  const rows = Object.entries(facts).map(
    ([name, value]) => `<div><dt>${name}</dt><dd>${escapeMarkup(value)}</dd></div>`,
  )
  return `<dl class="facts">${rows.join('')}</dl>`
}

function toTable({ statuses, rows }: CoverageMatrix): string {
  const head = statuses.map(status => `<th scope="col">${status}</th>`).join('')
  const body = rows.map(({ operationId, cells }) => {
    const at = operations.find(operation => operation.operationId === operationId)
    const title = at ? ` title="${escapeMarkup(`${at.method} ${at.path}, ${toSpecLine(at.pointer)}`)}"` : ''
    return `<tr><th scope="row"${title}>${escapeMarkup(operationId)}</th>${cells.map(toCell).join('')}</tr>`
  })
  return `<div class="table" tabindex="0" role="region" aria-label="Requests by operation and status"><table>
<thead><tr><th scope="col">Operation</th>${head}</tr></thead>
<tbody>
${body.join('\n')}
</tbody></table></div>
<p class="soft">Requests that were answered so. Empty: the contract does not declare the status there.
0: declared, and not reached.</p>`
}

function toCell(count: number | null): string {
  if (count === null) return '<td></td>'
  return `<td class="${count > 0 ? 'reached' : 'missed'}">${count}</td>`
}

function toNotReached({ notReached }: CoverageMatrix): string {
  if (notReached.length === 0) return '<p>Every declared status was reached.</p>'
  const items = notReached.map(line => `<li>${escapeMarkup(line)}</li>`).join('')
  const title = `Not reached: statuses of ${notReached.length} operations`
  return `<details><summary>${title}</summary><ul>${items}</ul></details>`
}

function toMeaning(name: Outcome): string {
  const { meaning, advice } = OUTCOMES[name]
  return `<dt>${name}</dt><dd>${escapeMarkup(`${meaning} ${advice}`)}</dd>`
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
