/** The part of the page that lists the checks. */
import type { KeptExchange } from '../kept-exchange.ts'
import type { CheckResult } from '../run-check.ts'
import { toSpecLine } from '../spec-line.ts'
import { toCurl } from './curl.ts'
import { escapeMarkup } from './markup.ts'
import { countOutcomes, OUTCOME_NAMES, type Outcome, toOutcome } from './outcome.ts'

/** Shown when the page opens, where there are any; else everything is. */
const WORTH_A_LOOK: readonly Outcome[] = ['fail', 'unexpected-pass', 'warn', 'expected-fail']

/** Those that need a reader come first; within an outcome, in the order of the run. */
export function toChecks(results: readonly CheckResult[]): string {
  const sorted = results.toSorted((a, b) => rank(a) - rank(b))
  return `<ul class="checks">\n${sorted.map(toItem).join('\n')}\n</ul>`
}

export function toFilters(results: readonly CheckResult[]): string {
  const counts = countOutcomes(results)
  const present = OUTCOME_NAMES.filter(name => counts[name] > 0)
  const isWorthALook = present.some(name => WORTH_A_LOOK.includes(name))
  const buttons = present.map(name => {
    const isPressed = !isWorthALook || WORTH_A_LOOK.includes(name)
    return `<button type="button" data-shows="${name}" aria-pressed="${isPressed}">${counts[name]} ${name}</button>`
  })
  return `<div class="filters" role="group" aria-label="Verdicts to show" hidden>${buttons.join('')}</div>
<p id="shown" class="soft" role="status"></p>`
}

function rank(result: CheckResult): number {
  return OUTCOME_NAMES.indexOf(toOutcome(result))
}

function toItem(result: CheckResult): string {
  const outcome = toOutcome(result)
  const { id, milliseconds, requests, exchanges, message } = result
  const cells = `<span class="mark">${outcome}</span><span class="id">${escapeMarkup(id)}</span>
<span class="end soft">${requests} ${requests === 1 ? 'request' : 'requests'}, ${milliseconds} ms</span>`
  const opens = outcome !== 'pass' && (message !== null || exchanges.length > 0)
  const inner = opens
    ? `<details><summary>${cells}</summary>${toDetails(result)}</details>`
    : `<div class="row">${cells}</div>`
  return `<li id="${escapeMarkup(id)}" data-outcome="${outcome}">${inner}</li>`
}

function toDetails({ message, expected, seen, source, level, exchanges, expectedFailure }: CheckResult): string {
  const sides =
    expected === null || seen === null
      ? ''
      : `<div class="sides"><div><h3>Expected</h3>${toBlock(expected)}</div>
<div><h3>Seen</h3>${toBlock(seen)}</div></div>`
  const reason = expectedFailure ? `<p>Expected to fail: ${escapeMarkup(expectedFailure)}</p>` : ''
  return `<div class="more">${reason}<h3>What was found</h3>${toBlock(message ?? '')}${sides}
<h3>What the contract says</h3>
<p><code>${escapeMarkup(toSpecLine(source))}</code>, a ${level}; <span class="soft">${escapeMarkup(source)}</span></p>
${exchanges.map(toExchange).join('')}</div>`
}

function toExchange(exchange: KeptExchange, index: number, all: KeptExchange[]): string {
  const { method, url, status, requestHeaders, requestBody, replyHeaders, replyBody } = exchange
  const title = `${method} ${new URL(url).pathname}: ${status}`
  const isLast = index === all.length - 1
  return `<details${isLast ? ' open' : ''}><summary>${escapeMarkup(title)}</summary>
<h3>Repeat it</h3>${toBlock(toCurl(exchange))}
<h3>Request</h3>${toBlock(toMessage(`${method} ${url}`, requestHeaders, requestBody ?? ''))}
<h3>Reply</h3>${toBlock(toMessage(String(status), replyHeaders, replyBody))}</details>`
}

function toMessage(first: string, headers: Record<string, string>, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [first, ...lines, ...(body === '' ? [] : ['', body])].join('\n')
}

/** Can be scrolled with the keyboard. */
function toBlock(text: string): string {
  return `<pre tabindex="0">${escapeMarkup(text)}</pre>`
}
