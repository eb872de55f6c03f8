/** A deployment of the zoo: the service of this checkout, seen through proxies with one fault. */
import type { InProcess } from '../contract/in-process.ts'
import type { Fault } from './fault.ts'
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts'

export interface ZooDeployment {
  /** What the suite is given. Closing it leaves the service running. */
  inProcess: InProcess
  /** How often the fault changed something, and how often it could have changed the time of something, as of a proxy. */
  changes(): number
  touches(): number
  /** Everything passes unchanged until `resume`. */
  pause(): void
  resume(): void
  close(): Promise<void>
}

export async function openZooDeployment(service: InProcess, fault: Fault | null): Promise<ZooDeployment> {
  const memory = new Map<string, unknown>()
  const proxies: FaultProxy[] = []
  const front = async (target: InProcess['target']) => {
    const proxy = await startFaultProxy(target, fault, memory)
    proxies.push(proxy)
    return proxy.target
  }
  const target = await front(service.target)
  return {
    inProcess: {
      ...service,
      target,
      async openFront(options) {
        const baseUrl = await service.openFront(options)
        return (await front({ ...service.target, baseUrl, inferenceUrl: `${baseUrl}/v1` })).baseUrl
      },
      close: async () => {},
    },
    changes: () => proxies.reduce((sum, proxy) => sum + proxy.changes(), 0),
    touches: () => proxies.reduce((sum, proxy) => sum + proxy.touches(), 0),
    pause() {
      for (const proxy of proxies) proxy.pause()
    },
    resume() {
      for (const proxy of proxies) proxy.resume()
    },
    async close() {
      for (const proxy of proxies) await proxy.close()
    },
  }
}
