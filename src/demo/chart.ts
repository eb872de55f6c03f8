/** A chart for a terminal: one line for each step, drawn when the step ends, so that it grows downwards and needs no cursor moves. */
import type { Formatter } from 'picocolors/types.js'

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of `width` characters for a value from 0 to `most`, exact to an eighth of a character; what is beyond is cut off. */
export function toBar(value: number, most: number, width: number): string {
  const share = most > 0 && Number.isFinite(value) ? Math.min(1, Math.max(0, value / most)) : 0
  const eighths = Math.round(share * width * EIGHTHS.length)
  const full = Math.floor(eighths / EIGHTHS.length)
  return ('█'.repeat(full) + EIGHTHS[eighths % EIGHTHS.length]!).padEnd(width)
}

export interface ChartRow {
  label: string
  value: number
  /** The value of a full bar. */
  most: number
  /** What is told at the end of the line. */
  details: string[]
}

const BAR_WIDTH = 40

/** One line: label, bar, value, details. `paint` colours the bar. */
export function toChartLine({ label, value, most, details }: ChartRow, paint: Formatter = String): string {
  return [label, `│${paint(toBar(value, most, BAR_WIDTH))}│`, value.toFixed(3).padStart(6), ...details]
    .join('  ')
    .trimEnd()
}

/** Such as 4.2 s or 2 min 05 s. */
export function toDuration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 100) / 10
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`
}

/** Columns as wide as their widest cell; the last one is not padded. */
export function toTable(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows.map(row =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!)))
      .join('   ')
      .trimEnd(),
  )
}
