import pc from 'picocolors'
import { toDuration } from './demo/chart.ts'
import { createScreen } from './demo/screen.ts'
import { showFineTune } from './demo/show-fine-tune.ts'
import { showReinforcement } from './demo/show-reinforcement.ts'
import { startTemporaryServer } from './demo/temporary-server.ts'
import { DEFAULT_BASE_MODEL } from './inference/base-models.ts'

/** What shells report for a program ended by SIGINT. */
const INTERRUPTED_EXIT_CODE = 130

/**
 * `trainyard demo`: trains the built-in model on a server of its own, through the public API and the generated client, and
 * leaves nothing behind. Ctrl-C ends it early, cleaned up as well.
 */
export async function runDemo(): Promise<void> {
  const screen = createScreen(process.stdout)
  const started = performance.now()
  const interruption = new AbortController()
  const { signal } = interruption
  const interrupt = () => interruption.abort()
  // npm hands on what the terminal has sent already, so that one Ctrl-C may come twice: the second must not cut the clean-up short
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  screen.status('starting a temporary server')
  const server = await startTemporaryServer(process.env)
  try {
    signal.throwIfAborted()
    screen.print(
      `A temporary server at ${server.url}, with the base model ${DEFAULT_BASE_MODEL}. Everything below goes through its API.\n`,
    )
    await showReinforcement(server.client, DEFAULT_BASE_MODEL, screen, signal)
    await showFineTune(server.client, DEFAULT_BASE_MODEL, screen, signal)
  } catch (error) {
    if (!signal.aborted) throw error
    process.exitCode = INTERRUPTED_EXIT_CODE
  } finally {
    screen.status('stopping the server')
    await server.close()
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
  }
  const outcome = signal.aborted ? 'Stopped' : pc.green('Done')
  screen.print(
    `${outcome} after ${toDuration(performance.now() - started)}. The server is gone, and its folder with it.`,
  )
}
