/** Hooks that change webhook calls, with a signature that fits the changed body. */
import { createHmac } from 'node:crypto'
import { jsonOf } from './change-requests.ts'
import type { Fault, ZooContext, ZooRequest } from './fault.ts'

export const SIGNATURE = 'x-vendor-signature'

type Hooks = Required<Pick<Fault, 'onRequest' | 'onDelivery'>>

/** Remembers the values of secrets, and gives for each call what comes instead. */
export function deliveries(change: (call: ZooRequest, context: ZooContext) => ZooRequest[]): Hooks {
  return {
    onRequest(request, context) {
      if (context.operationId === 'putSecret') secretsOf(context).add(String(jsonOf(request)?.value))
      return request
    },
    onDelivery: change,
  }
}

/** The body of each call changed and signed again. */
export function deliveryText(change: (text: string, context: ZooContext) => string): Hooks {
  return deliveries((call, context) => [withBody(call, change(call.body.toString('utf8'), context), context)])
}

export function deliveryHeaders(change: (headers: ZooRequest['headers']) => Record<string, string | undefined>): Hooks {
  return deliveries(call => {
    const headers = Object.entries({ ...call.headers, ...change(call.headers) })
    const given = headers.filter((entry): entry is [string, string] => entry[1] !== undefined)
    return [{ ...call, headers: Object.fromEntries(given) }]
  })
}

export function withBody(call: ZooRequest, text: string, context: ZooContext): ZooRequest {
  const body = Buffer.from(text)
  const signature = call.headers[SIGNATURE]
  const secret = [...secretsOf(context)].find(value => sign(value, call.body) === signature)
  return {
    ...call,
    body,
    headers: secret === undefined ? call.headers : { ...call.headers, [SIGNATURE]: sign(secret, body) },
  }
}

function sign(secret: string, body: Buffer): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

export function secretsOf({ memory }: ZooContext): Set<string> {
  const secrets = (memory.get('secrets') as Set<string> | undefined) ?? new Set<string>()
  memory.set('secrets', secrets)
  return secrets
}
