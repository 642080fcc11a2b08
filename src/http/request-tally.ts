import { Counter, type Registry } from 'prom-client'

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const name = 'masquerade_http_request_seconds'

interface Durations {
  readonly counts: number[]
  sum: number
  count: number
}

/** Counts requests in plain numbers until they are scraped: labels of a metric take a hash for each request. */
export class RequestTally {
  readonly #requests = new Map<string, Map<string, Map<number, number>>>()
  readonly #durations = new Map<string, Durations>()

  constructor(registry: Registry) {
    const requests = this.#requests
    new Counter({
      name: 'masquerade_http_requests_total',
      help: 'Requests answered, by operation, method and status.',
      labelNames: ['operation', 'method', 'status'] as const,
      registers: [registry],
      collect() {
        this.reset()
        for (const [operation, methods] of requests)
          for (const [method, statuses] of methods)
            for (const [status, count] of statuses) this.inc({ operation, method, status }, count)
      },
    })
    const get = async () => ({
      name,
      help: 'Time from the first byte of a request to the last of its answer.',
      type: 'histogram',
      aggregator: 'sum',
      values: [...this.#durations].flatMap(([operation, durations]) => describe(operation, durations)),
    })
    // A registry asks its metrics for no more than a name and their values.
    registry.registerMetric({ name, get, reset: () => this.#durations.clear() } as unknown as Counter)
  }

  observe(operation: string, method: string, status: number, ms: number): void {
    const methods = getOrAdd(this.#requests, operation, () => new Map<string, Map<number, number>>())
    const statuses = getOrAdd(methods, method, () => new Map<number, number>())
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const durations = getOrAdd(this.#durations, operation, () => ({
      counts: secondsBuckets.map(() => 0),
      sum: 0,
      count: 0,
    }))
    const seconds = ms / 1000
    const bucket = secondsBuckets.findIndex((upTo) => seconds <= upTo)
    if (bucket >= 0) durations.counts[bucket] = (durations.counts[bucket] ?? 0) + 1
    durations.sum += seconds
    durations.count++
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** Buckets as the format wants them: each with all that took no longer. */
function describe(operation: string, { counts, sum, count }: Durations) {
  let total = 0
  const buckets = secondsBuckets.map((le, at) => {
    total += counts[at] ?? 0
    return { metricName: `${name}_bucket`, labels: { le, operation }, value: total }
  })
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf', operation }, value: count },
    { metricName: `${name}_sum`, labels: { operation }, value: sum },
    { metricName: `${name}_count`, labels: { operation }, value: count },
  ]
}
