/** A statement takes 32766 parameters. */
const ROWS_PER_STATEMENT = 1000

/** Rows or values in lists that fit into one statement each. */
export function toChunks<Item>(items: readonly Item[]): Item[][] {
  const chunks: Item[][] = []
  for (let start = 0; start < items.length; start += ROWS_PER_STATEMENT) {
    chunks.push(items.slice(start, start + ROWS_PER_STATEMENT))
  }
  return chunks
}
