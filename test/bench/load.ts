import { Connection } from './connection.ts'

export interface Load {
  connections: number
  /** The load ends after so many seconds or requests. */
  seconds?: number
  requests?: number
}

/** Requests answered with 200 in each second, over connections that send the next request when the last is answered. Throws at any other status. */
export async function measureRate(url: string, request: Buffer, load: Load): Promise<number> {
  const { connections, seconds = Number.POSITIVE_INFINITY, requests = Number.POSITIVE_INFINITY } = load
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(url)))
  const start = performance.now()
  const end = start + seconds * 1000
  let sent = 0
  await Promise.all(
    open.map(async connection => {
      while (sent < requests && performance.now() < end) {
        sent++
        requireOk(await connection.send(request))
      }
    }),
  )
  const elapsed = (performance.now() - start) / 1000
  for (const connection of open) connection.close()
  return sent / elapsed
}

/**
 * Sends requests at a fixed pace, whether or not earlier ones are answered, until `until` settles. Resolves with each one's
 * milliseconds from when it was due: a server that stands still delays all that come meanwhile, and each of them counts.
 */
export async function measureDelays(
  url: string,
  request: Buffer,
  perSecond: number,
  until: Promise<unknown>,
): Promise<number[]> {
  const idle: Connection[] = []
  const delays: number[] = []
  const running = new Set<Promise<void>>()
  let failure: unknown
  const sendOne = async (due: number) => {
    const connection = idle.pop() ?? (await Connection.open(url))
    requireOk(await connection.send(request))
    delays.push(performance.now() - due)
    idle.push(connection)
  }
  const interval = 1000 / perSecond
  let due = performance.now() + interval
  const timer = setInterval(() => {
    for (; due <= performance.now(); due += interval) {
      const sent: Promise<void> = sendOne(due)
        .catch(error => {
          failure ??= error
        })
        .finally(() => running.delete(sent))
      running.add(sent)
    }
  }, interval)
  try {
    await until
  } finally {
    clearInterval(timer)
    await Promise.all(running)
    for (const connection of idle) connection.close()
  }
  if (failure) throw failure
  return delays
}

/** The value below which a share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!
}

function requireOk(status: number): void {
  if (status !== 200) throw new Error(`A request was answered ${status}`)
}
