/** A worker that fails in the ways that real ones might. */
import { serveWorker } from '../../src/onnx/serve-worker.ts'

serveWorker({
  echo: (value: unknown) => value,
  refuse: () => {
    throw new RangeError('refused')
  },
  crash: () => {
    setImmediate(() => {
      throw new Error('out of luck')
    })
    return new Promise(() => {})
  },
  exit: () => process.exit(3),
  hang: () => {
    while (true);
  },
  wait: (_: unknown, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  count: (to: number, { emit }) => {
    for (let number = 1; number <= to; number++) emit(number)
  },
})
