/** Is the deployment there, and does it take the keys? */
import type { Target } from './target.ts'

const REACH_TIMEOUT_MS = 10_000

export interface Reach {
  /** Why the checks cannot begin; null: they can. */
  trouble: string | null
  isPrism: boolean
  requests: number
}

export async function reach({ baseUrl, apiKey, secondApiKey, basic }: Target): Promise<Reach> {
  let requests = 0
  const get = (path: string, headers: Record<string, string> = {}) => {
    requests++
    return fetch(baseUrl + path, { headers, signal: AbortSignal.timeout(REACH_TIMEOUT_MS) })
  }
  const isRefused = async (path: string, authorization: string) => {
    const response = await get(path, { authorization })
    await response.body?.cancel()
    return response.status === 401
  }
  const end = (trouble: string | null, isPrism = false): Reach => ({ trouble, isPrism, requests })
  try {
    if (await isRefused('/v1/models', `Bearer ${apiKey}`)) return end(`${baseUrl} refuses the API key`)
    if (secondApiKey && (await isRefused('/v1/models', `Bearer ${secondApiKey}`)))
      return end(`${baseUrl} refuses the second API key`)
    const credentials = Buffer.from(basic).toString('base64')
    if (await isRefused('/v2/no-team/no-project/scorers', `Basic ${credentials}`))
      return end(`${baseUrl} refuses the basic credentials`)
    // Prism answers unknown paths in a form of its own.
    const unknown = await get('/contract-probe')
    return end(null, (await unknown.text()).includes('stoplight.io/prism'))
  } catch (error) {
    return end(`${baseUrl} cannot be reached: ${toReason(error as Error)}`)
  }
}

function toReason({ message, cause }: Error): string {
  return cause instanceof Error ? cause.message || String((cause as NodeJS.ErrnoException).code) : message
}
