import type { Client, Item } from '../../generated/client.ts'

/** The checkpoint that the last job made, or that of step 0. Its `artifact` is its name in chat. */
export async function getNewestCheckpoint(
  client: Client,
  modelId: string,
  signal?: AbortSignal,
): Promise<Item<'listCheckpoints'>> {
  const { data } = await client.listCheckpoints({ model_id: modelId, limit: 1, order: 'desc' }, { signal })
  const [checkpoint] = data
  if (!checkpoint) throw new Error(`model ${modelId} has no checkpoint left`)
  return checkpoint
}
