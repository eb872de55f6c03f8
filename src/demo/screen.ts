/** What the demo writes to: lines that stay and, on a terminal, one status line below them that comes and goes. */
export interface Screen {
  print(line?: string): void
  /** Shown until the next print or status; not shown where the output is no terminal. */
  status(text: string): void
}

const CLEAR_LINE = '\r\u001b[2K'

export function createScreen(stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>): Screen {
  let shown = false
  const clear = () => {
    if (shown) stream.write(CLEAR_LINE)
    shown = false
  }
  return {
    print(line = '') {
      clear()
      stream.write(`${line}\n`)
    },
    status(text) {
      if (!stream.isTTY) return
      clear()
      // a status wider than the terminal would wrap, and only its last line could be cleared
      stream.write(text.slice(0, Math.max(0, (stream.columns ?? 80) - 1)))
      shown = true
    },
  }
}
