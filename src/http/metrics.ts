import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { RequestTally } from './request-tally.ts'

interface StateCount {
  readonly databases: number
  readonly rules: number
}

export interface Metrics {
  readonly registry: Registry
  observeRequest(operation: string, method: string, status: number, ms: number): void
  countDrift(): void
  /** The databases in each state, and their rules, counted at each scrape. */
  showStates(count: () => Promise<Readonly<Record<string, StateCount>>>): void
  /** The roles that the masks of each database do not contain, by the last look. */
  showContainment(
    list: () => Promise<readonly { readonly id: string; readonly notContained: number }[]>,
  ): void
  /** The state of the service's own database, and the room on the disk of the data directory. */
  showStore(states: readonly string[], state: () => string, freeBytes: () => Promise<number>): void
}

export function createMetrics(): Metrics {
  const registry = new Registry()
  // The metric counts the interval in. At ten milliseconds, as by default, it takes more of a core than all else of an idle service.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 500 })
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
      const show = (name: string, help: string, kind: keyof StateCount) =>
        new Gauge({
          name,
          help,
          labelNames: ['state'] as const,
          registers: [registry],
          async collect() {
            this.reset()
            // While the database of the service is away there is nothing to say, and the rest of the page is of use.
            const counts = await count().catch(() => ({}))
            for (const [state, found] of Object.entries(counts)) this.set({ state }, found[kind])
          },
        })
      show('masquerade_masked_databases', 'Databases by the state of their masks.', 'databases')
      show('masquerade_masking_rules', 'Rules by the state of the masks of their database.', 'rules')
    },
    showContainment(list) {
      new Gauge({
        name: 'masquerade_roles_not_contained',
        help: 'Database roles that the masks of a bound database do not contain, by the last look.',
        labelNames: ['database'] as const,
        registers: [registry],
        async collect() {
          this.reset()
          for (const { id, notContained } of await list().catch(() => []))
            this.set({ database: id }, notContained)
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
