/** Proves that onnxruntime works on this machine by running a graph of one addition. */
import { Graph } from './graph.ts'
import { createSession, floatsOf, toTensor } from './session.ts'
import { add } from './tensor-operations.ts'

/** Throws the reason where it does not. */
export async function checkRuntime(): Promise<void> {
  const graph = new Graph()
  graph.output(add(graph.input('a', [1]), graph.scalar(2)), 'sum')
  const session = await createSession(graph, { threads: 1, spinning: false }, null)
  const outputs = await session.run({ a: toTensor(Float32Array.of(1), [1]) })
  await session.release()
  const sum = floatsOf(outputs, 'sum')[0]
  if (sum !== 3) throw new Error(`onnxruntime computed 1 + 2 = ${sum}`)
}
