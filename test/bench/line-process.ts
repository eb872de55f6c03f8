import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'

/** A process that says `ready`, then answers each line with a line. */
export class LineProcess {
  #child: ChildProcessByStdio<Writable, Readable, Readable>
  #lines: AsyncIterator<string>
  #complaints = ''

  private constructor(command: string, words: string[]) {
    this.#child = spawn(command, words, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#child.stderr.setEncoding('utf8').on('data', text => {
      this.#complaints += text
    })
  }

  static async start(command: string, words: string[]): Promise<LineProcess> {
    const started = new LineProcess(command, words)
    await once(started.#child, 'spawn')
    await started.#read()
    return started
  }

  async ask(line: string): Promise<string> {
    this.#child.stdin.write(`${line}\n`)
    return this.#read()
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.kill()
    await once(this.#child, 'exit')
  }

  async #read(): Promise<string> {
    const { done, value } = await this.#lines.next()
    if (done) throw new Error(`${this.#child.spawnargs.join(' ')} ended: ${this.#complaints}`)
    return value
  }
}
