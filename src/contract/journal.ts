/**
 * What a run makes, written down before each request that makes something is sent, so that `trainyard contract cleanup` finds it even
 * after a crash. JSON lines in `<state folder>/<run id>.jsonl`; removed when all is taken away. Holds no credentials.
 */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Target } from './target.ts'
import { withoutCredentials } from './target.ts'

/** Which of the run's keys made something. */
export type KeyName = 'first' | 'second'

export interface Entry {
  number: number
  operationId: string
  /** Path parameters of the request. */
  path: Readonly<Record<string, string>>
  key: KeyName
  /**
   * sent: the reply never came, or told nothing. made: `reply` takes it away. gone: taken away again, or refused.
   */
  state: 'sent' | 'made' | 'gone'
  /** Texts of the reply that its deletion needs. */
  reply: Readonly<Record<string, string>>
}

export interface Journal {
  runId: string
  /** Without credentials. */
  baseUrl: string
  /** The process that writes it. */
  pid: number
  entries: readonly Entry[]
  add(entry: Omit<Entry, 'number' | 'state' | 'reply'>): Entry
  settle(entry: Entry, state: 'made' | 'gone', reply?: Record<string, string>): void
  /** To be called when everything is gone. */
  remove(): void
}

type Line =
  | { run: string; baseUrl: string; pid: number }
  | { sent: number; operationId: string; path: Record<string, string>; key: KeyName }
  | { made: number; reply: Record<string, string> }
  | { gone: number }

/** `$XDG_STATE_HOME/trainyard/contract`, by default below `~/.local/state`. */
export function journalFolder(environment: NodeJS.ProcessEnv): string {
  return join(environment.XDG_STATE_HOME || join(homedir(), '.local', 'state'), 'trainyard', 'contract')
}

/** With a folder of null it is kept in memory alone. The file comes with the first entry. */
export function createJournal(folder: string | null, runId: string, target: Pick<Target, 'baseUrl'>): Journal {
  const baseUrl = withoutCredentials(target.baseUrl)
  const { pid } = process
  const path = folder === null ? null : join(folder, `${runId}.jsonl`)
  return toJournal({ run: runId, baseUrl, pid }, path, [])
}

/** The journals that runs on a deployment left, oldest first. What cannot be read as one is passed over. */
export function readJournals(folder: string, { baseUrl }: Pick<Target, 'baseUrl'>): Journal[] {
  const wanted = withoutCredentials(baseUrl)
  return listFiles(folder)
    .map(name => readJournal(join(folder, name)))
    .filter(journal => journal?.baseUrl === wanted)
    .map(journal => journal!)
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter(name => name.endsWith('.jsonl'))
      .toSorted()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function readJournal(path: string): Journal | null {
  const [head, ...lines] = readFileSync(path, 'utf8').split('\n').map(parseLine)
  if (!head || !('run' in head)) return null
  const entries = new Map<number, Entry>()
  for (const line of lines) {
    // The last line may be cut off where the run was.
    if (line === null || 'run' in line) continue
    if ('sent' in line) {
      const { sent: number, operationId, path, key } = line
      entries.set(number, { number, operationId, path, key, state: 'sent', reply: {} })
      continue
    }
    const entry = entries.get('made' in line ? line.made : line.gone)
    if (!entry) continue
    if ('made' in line) Object.assign(entry, { state: 'made', reply: line.reply })
    else entry.state = 'gone'
  }
  return toJournal(head, path, [...entries.values()])
}

function parseLine(text: string): Line | null {
  try {
    return JSON.parse(text) as Line
  } catch {
    return null
  }
}

function toJournal(head: Extract<Line, { run: string }>, path: string | null, entries: Entry[]): Journal {
  let isBegun = entries.length > 0
  const write = (line: Line) => {
    if (path === null) return
    if (!isBegun) {
      mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 })
      appendFileSync(path, `${JSON.stringify(head)}\n`, { mode: 0o600 })
      isBegun = true
    }
    appendFileSync(path, `${JSON.stringify(line)}\n`)
  }
  return {
    runId: head.run,
    baseUrl: head.baseUrl,
    pid: head.pid,
    entries,
    add({ operationId, path, key }) {
      const entry: Entry = { number: entries.length, operationId, path, key, state: 'sent', reply: {} }
      write({ sent: entry.number, operationId, path, key })
      entries.push(entry)
      return entry
    },
    settle(entry, state, reply = {}) {
      entry.state = state
      if (state === 'made') entry.reply = reply
      write(state === 'made' ? { made: entry.number, reply } : { gone: entry.number })
    },
    remove() {
      if (path !== null) rmSync(path, { force: true })
    },
  }
}
