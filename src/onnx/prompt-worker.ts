/**
 * Renders chat templates and tries out constraints on a thread of its own: a template that never ends, or a grammar that
 * takes long to compile, blocks nothing else.
 */
import type { ConstraintSource } from '../inference/constraint/constraint.ts'
import { CONSTRAINT_LIMITS } from '../inference/constraint/limits.ts'
import type { Prompt } from '../inference/engine.ts'
import { toBadWords } from './bad-words.ts'
import { ChatRenderer } from './chat-renderer.ts'
import { CompiledConstraints } from './compiled-constraints.ts'
import type { LoadedModel, RenderedPrompt } from './prompt-client.ts'
import { serveWorker } from './serve-worker.ts'

/** Milliseconds for one constraint: the sampler compiles it once more, and meanwhile generates nothing. */
const COMPILE_LIMIT_MS = 1_000

const renderers = new Map<string, ChatRenderer>()
const constraints = new CompiledConstraints({ ...CONSTRAINT_LIMITS, compileMilliseconds: COMPILE_LIMIT_MS })

function rendererOf(folder: string): ChatRenderer {
  const known = renderers.get(folder)
  if (known) return known
  const renderer = new ChatRenderer(folder)
  renderers.set(folder, renderer)
  return renderer
}

serveWorker({
  load: ({ folder }: { folder: string }): LoadedModel => {
    const { contextLength, vocabularySize } = rendererOf(folder)
    return { contextLength, vocabularySize }
  },
  render: (request: { folder: string; prompt: Prompt; badWords: string[] }): RenderedPrompt => {
    const renderer = rendererOf(request.folder)
    return { ids: renderer.render(request.prompt), badWords: toBadWords(request.badWords, renderer) }
  },
  /** Throws PromptError where the sampler must not be given the constraint. */
  tryConstraint: ({ source }: { source: ConstraintSource }) => {
    constraints.compile(source)
  },
})
