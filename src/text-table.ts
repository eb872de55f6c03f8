import pc from 'picocolors'

const GAP = '  '

/** Rows under dim headings, in columns as wide as their longest text. */
export function toTable(headings: string[], rows: string[][]): string {
  const widths = headings.map((heading, column) =>
    Math.max(...[heading, ...rows.map(row => row[column]!)].map(toWidth)),
  )
  const toLine = (row: string[]) =>
    row
      .map((text, column) => text + ' '.repeat(widths[column]! - toWidth(text)))
      .join(GAP)
      .trimEnd()
  return `${[pc.dim(toLine(headings)), ...rows.map(toLine)].join('\n')}\n`
}

/** Characters, rather than UTF-16 units. */
function toWidth(text: string): number {
  return [...text].length
}
