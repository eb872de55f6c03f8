/** Draws the loss of a training run in the terminal: one line that grows, or one line per report where there is no terminal. */

const BARS = '▁▂▃▄▅▆▇█'
/** Characters of the drawn curve. */
const CURVE_WIDTH = 40
/** Steps between two lines of a log that is not a terminal. */
const LOG_INTERVAL = 50
/** Share of the newest step in the shown loss and rate. */
const SMOOTHING = 0.1

export interface Progress {
  step(loss: number, tokens: number): void
  finish(): void
}

/** The values as bars, the highest filling the line's height; more values than `width` are averaged in groups. */
export function toCurve(values: readonly number[], width = CURVE_WIDTH): string {
  const columns = Math.min(width, values.length)
  const means = Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns)
    const to = Math.floor(((column + 1) * values.length) / columns)
    return values.slice(from, to).reduce((sum, value) => sum + value, 0) / (to - from)
  })
  const most = Math.max(...means)
  return means.map(mean => BARS[Math.min(BARS.length - 1, Math.floor((mean / most) * BARS.length))]).join('')
}

const toClock = (seconds: number) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

/** `totalTokens` is what the estimate of the time left is reckoned from. */
export function createProgress(
  steps: number,
  totalTokens: number,
  output: NodeJS.WriteStream = process.stdout,
): Progress {
  const losses: number[] = []
  const start = performance.now()
  let tokensDone = 0
  let last = start
  let rate = 0
  let smoothed = 0
  const toLine = () => {
    const left = rate > 0 ? (totalTokens - tokensDone) / rate : 0
    const count = `${String(losses.length).padStart(String(steps).length)}/${steps}`
    return `step ${count}  loss ${smoothed.toFixed(3)} ${toCurve(losses)}  ${Math.round(rate)} tokens/s  ${toClock(left)} left`
  }
  return {
    step(loss, tokens) {
      const now = performance.now()
      const newest = tokens / Math.max((now - last) / 1000, 1e-3)
      rate = losses.length === 0 ? newest : rate + SMOOTHING * (newest - rate)
      smoothed = losses.length === 0 ? loss : smoothed + SMOOTHING * (loss - smoothed)
      last = now
      tokensDone += tokens
      losses.push(loss)
      if (output.isTTY) output.write(`\r\x1b[2K${toLine()}`)
      else if (losses.length % LOG_INTERVAL === 0) output.write(`${toLine()}\n`)
    },
    finish() {
      if (output.isTTY) output.write(`\r\x1b[2K`)
      output.write(`${toLine()}\ntrained ${tokensDone} tokens in ${toClock((performance.now() - start) / 1000)}\n`)
    },
  }
}
