/** Renders chat templates on a thread of its own: a template that never ends blocks nothing else. */
import type { Prompt } from '../inference/engine.ts'
import { ChatRenderer } from './chat-renderer.ts'
import { serveWorker } from './serve-worker.ts'

const renderers = new Map<string, ChatRenderer>()

function rendererOf(folder: string): ChatRenderer {
  const known = renderers.get(folder)
  if (known) return known
  const renderer = new ChatRenderer(folder)
  renderers.set(folder, renderer)
  return renderer
}

serveWorker({
  /** The model's context length. */
  load: ({ folder }: { folder: string }) => rendererOf(folder).contextLength,
  render: ({ folder, prompt }: { folder: string; prompt: Prompt }) => rendererOf(folder).render(prompt),
})
