import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { RequestTally } from './request-tally.ts'

export interface Metrics {
  readonly registry: Registry
  observeRequest(operation: string, method: string, status: number, ms: number): void
  countDrift(): void
  /** The number of masked databases in each state, counted at each scrape. */
  showStates(count: () => Promise<Readonly<Record<string, number>>>): void
  /** The state of the service's own database, and the room on the disk of the data directory. */
  showStore(states: readonly string[], state: () => string, freeBytes: () => Promise<number>): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new RequestTally(registry)
  const drift = new Counter({
    name: 'masquerade_drift_repairs_total',
    help: 'Times that a masked database was found changed by hand and put right.',
    registers: [registry],
  })
  return {
    registry,
    countDrift: () => drift.inc(),
    showStates(count) {
      new Gauge({
        name: 'masquerade_masked_databases',
        help: 'Bound databases by the state of their masks: Enforced, Pending, Failed.',
        labelNames: ['state'] as const,
        registers: [registry],
        async collect() {
          this.reset()
          // While the database of the service is away there is nothing to say, and the rest of the page is of use.
          const counts = await count().catch(() => ({}))
          for (const [state, value] of Object.entries(counts)) this.set({ state }, value)
        },
      })
    },
    showStore(states, state, freeBytes) {
      new Gauge({
        name: 'masquerade_store_state',
        help: 'State of the database of the service: 1 for ready, unreachable or full.',
        labelNames: ['state'] as const,
        registers: [registry],
        collect() {
          for (const each of states) this.set({ state: each }, Number(each === state()))
        },
      })
      new Gauge({
        name: 'masquerade_data_free_bytes',
        help: 'Room on the disk of the data directory.',
        registers: [registry],
        async collect() {
          this.set(await freeBytes().catch(() => Number.NaN))
        },
      })
    },
    observeRequest: (...request) => requests.observe(...request),
  }
}
