/** A training graph opened in onnxruntime. It holds no trained numbers, so one program serves many jobs. */
import type { InferenceSession } from 'onnxruntime-node'
import { type Adapter, factorNames } from './adapter.ts'
import { Graph, type Value } from './graph.ts'
import type { Objective } from './losses.ts'
import { type Lora, noLora } from './model.ts'
import { type ModelConfig, readModelConfig } from './model-config.ts'
import { createSession, type SessionSettings } from './session.ts'
import { buildTrainGraph, type TrainGraphShape } from './train-graph.ts'
import { createFrozenWeights, createTrainedWeights, type Parameter, readWeightIndex } from './weights.ts'

export interface TrainProgram {
  session: InferenceSession
  shape: TrainGraphShape
  objective: Objective
  /** Names of the parameters that the graph takes and gives gradients for. */
  trainedNames: string[]
}

/** All weights train. `parameters` is read for names and shapes only. */
export async function openFullProgram(
  config: ModelConfig,
  parameters: ReadonlyMap<string, Parameter>,
  shape: TrainGraphShape,
  objective: Objective,
  settings: SessionSettings,
): Promise<TrainProgram> {
  const graph = new Graph()
  const trained: Value[] = []
  const weights = createTrainedWeights(graph, parameters, trained)
  buildTrainGraph(graph, { config, weights, lora: noLora }, trained, shape, objective)
  const session = await createSession(graph, settings, null)
  return { session, shape, objective, trainedNames: trained.map(value => value.name) }
}

/** An adapter trains; the weights stay in the model's files. `adapter` is read for its rank, scale and names only. */
export async function openLoraProgram(
  modelFolder: string,
  adapter: Adapter,
  shape: TrainGraphShape,
  objective: Objective,
  settings: SessionSettings,
): Promise<TrainProgram> {
  const graph = new Graph()
  const trained: Value[] = []
  const config = readModelConfig(modelFolder)
  const index = readWeightIndex(modelFolder)
  const lora: Lora = (layerName, inputs, outputs) => {
    const { a, b } = factorNames(layerName)
    if (!adapter.factors.has(a)) return null
    const factors = {
      a: graph.input(a, [adapter.rank, inputs], 'float32', true),
      b: graph.input(b, [outputs, adapter.rank], 'float32', true),
    }
    trained.push(factors.a, factors.b)
    return { ...factors, scale: adapter.alpha / adapter.rank }
  }
  const weights = createFrozenWeights(graph, index)
  buildTrainGraph(graph, { config, weights, lora }, trained, shape, objective)
  const session = await createSession(graph, settings, index.folder)
  return { session, shape, objective, trainedNames: trained.map(value => value.name) }
}
