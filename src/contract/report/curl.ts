/** A request that can be pasted into a shell. */
import type { KeptExchange } from '../kept-exchange.ts'
import { MASKS } from '../redact.ts'

/** The variables that hold what a report must not. */
const VARIABLES: [mask: string, variable: string][] = [
  [MASKS.apiKey, '$API_KEY'],
  [MASKS.secondApiKey, '$SECOND_API_KEY'],
]

/** Added by the client for itself. */
const LEFT_OUT = new Set(['content-length', 'host', 'connection', 'accept-encoding'])

/** One line. A form, which is not kept, is left to the reader. */
export function toCurl({ method, url, requestHeaders, requestBody }: KeptExchange): string {
  const headers = Object.entries(requestHeaders).flatMap(([name, value]) => {
    if (LEFT_OUT.has(name)) return []
    if (name === 'authorization' && value.endsWith(MASKS.basic)) return ['-u "$BASIC"']
    return [`-H ${quote(`${name}: ${value}`)}`]
  })
  const isForm = requestHeaders['content-type']?.startsWith('multipart/') ?? false
  const body = requestBody === null ? [] : [`--data-raw ${quote(requestBody)}`]
  const parts = ['curl -i', `-X ${method}`, quote(url), ...headers, ...body]
  return parts.join(' ') + (isForm ? " -F '<the form>'" : '')
}

/** In single quotes, or in double ones where a variable of the shell stands in the text. */
function quote(text: string): string {
  if (!VARIABLES.some(([mask]) => text.includes(mask))) return `'${text.replaceAll("'", "'\\''")}'`
  const escaped = text.replace(/[\\"$`]/g, '\\$&')
  return `"${VARIABLES.reduce((quoted, [mask, variable]) => quoted.replaceAll(mask, variable), escaped)}"`
}
