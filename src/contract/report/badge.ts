/** A badge for a README: an SVG that needs nothing from elsewhere. */
import type { RunReport } from '../run-report.ts'
import { escapeMarkup } from './markup.ts'
import { countOutcomes, failsRun } from './outcome.ts'

const LABEL = 'Trainyard contract'
const GREEN = '#2e7d32'
const RED = '#c62828'
const AMBER = '#8d6e00'
/** Of a letter in the badge's font, on average, in pixels. */
const LETTER_WIDTH = 6.6
const PADDING = 8
const HEIGHT = 20

export function toBadge({ results, profile, stopped }: RunReport): string {
  const counts = countOutcomes(results)
  const failed = results.filter(failsRun).length
  const isOver = stopped === null && counts.pass > 0
  const verdict = failed > 0 ? `${failed} failed` : isOver ? `${counts.pass} passed` : 'not finished'
  const text = profile === 'full' ? verdict : `${profile}: ${verdict}`
  const colour = failed > 0 ? RED : isOver ? GREEN : AMBER
  const [left, right] = [LABEL, text].map(one => Math.ceil(one.length * LETTER_WIDTH) + 2 * PADDING) as [number, number]
  const title = escapeMarkup(`${LABEL}: ${text}`)
  const size = `width="${left + right}" height="${HEIGHT}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img" aria-label="${title}">
<title>${title}</title>
<clipPath id="c"><rect ${size} rx="3"/></clipPath>
<g clip-path="url(#c)"><rect width="${left}" height="${HEIGHT}" fill="#37474f"/>
<rect x="${left}" width="${right}" height="${HEIGHT}" fill="${colour}"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="${left / 2}" y="14">${LABEL}</text><text x="${left + right / 2}" y="14">${escapeMarkup(text)}</text>
</g>
</svg>
`
}
