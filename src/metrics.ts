import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60]

export interface Metrics {
  observeRequest(operationId: string, status: number, seconds: number): void
  countTokens(model: string, kind: 'prompt' | 'completion', tokens: number): void
  countJob(type: string, status: string): void
  /** What an attempt made of its delivery. */
  countDelivery(outcome: 'delivered' | 'retried' | 'failed'): void
  /** At each scrape, how many deliveries wait. */
  watchDeliveries(countPending: () => Promise<number>): void
  /** The Prometheus text format, with its content type. */
  render(): Promise<{ contentType: string; text: string }>
}

/** One registry for each service, so that tests can run several in a process. Default metrics start at the first scrape. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Histogram({
    name: 'trainyard_request_duration_seconds',
    help: 'Time to answer, by operation and status',
    labelNames: ['operation', 'status'],
    buckets: SECONDS,
    registers,
  })
  const tokens = new Counter({
    name: 'trainyard_tokens_total',
    help: 'Tokens read and generated',
    labelNames: ['model', 'kind'],
    registers,
  })
  const jobs = new Counter({
    name: 'trainyard_jobs_total',
    help: 'Training jobs ended',
    labelNames: ['type', 'status'],
    registers,
  })
  const deliveries = new Counter({
    name: 'trainyard_webhook_attempts_total',
    help: 'Attempts to deliver to a webhook, by what became of the delivery',
    labelNames: ['outcome'],
    registers,
  })
  let collecting = false
  return {
    observeRequest: (operation, status, seconds) => requests.observe({ operation, status }, seconds),
    countTokens: (model, kind, count) => tokens.inc({ model, kind }, count),
    countJob: (type, status) => jobs.inc({ type, status }),
    countDelivery: outcome => deliveries.inc({ outcome }),
    watchDeliveries(countPending) {
      new Gauge({
        name: 'trainyard_webhook_deliveries_pending',
        help: 'Webhook deliveries that wait to be sent, or sent again',
        registers,
        async collect() {
          this.set(await countPending())
        },
      })
    },
    async render() {
      if (!collecting) collectDefaultMetrics({ register: registry })
      collecting = true
      return { contentType: registry.contentType, text: await registry.metrics() }
    },
  }
}
