/** One address for several deployments, one after the other: for tools that take long to start and know only one address. */

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface SwitchableFront {
  /** Such as http://127.0.0.1:8080. */
  origin: string
  /** Everything that comes from now on goes there; what is open is cut. */
  pointAt(origin: string): void
  close(): Promise<void>
}

export async function startSwitchableFront(): Promise<SwitchableFront> {
  const open = new Set<Socket>()
  let port = 0
  const server = createServer(incoming => {
    const outgoing = connect(port, '127.0.0.1')
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      open.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pointAt(origin) {
      cut()
      port = Number(new URL(origin).port)
    },
    async close() {
      cut()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
