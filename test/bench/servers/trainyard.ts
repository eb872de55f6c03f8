/** Our whole server with engines that compute nothing. A job takes until the server ends, so that creating jobs is measured and not running them. */
import { readSettings } from '../../../src/config.ts'
import { startServer } from '../../../src/serve.ts'
import type { TrainingEngine } from '../../../src/training/engine.ts'
import { noOpInference, noOpTraining } from '../../no-op-engine.ts'

const endlessTraining: TrainingEngine = {
  ...noOpTraining,
  train: (_task, _onProgress, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    }),
}

const server = await startServer(readSettings(process.env), { inference: noOpInference, training: endlessTraining })
process.stderr.write(`${server.url}\n`)
process.once('SIGTERM', () => server.close().then(() => process.exit(0)))
