import { Counter, Gauge, type Registry } from 'prom-client'

export interface MembershipMetrics {
  /** `memory` or `sql`, by what answered. */
  countAnswer(source: 'memory' | 'sql'): void
  /** A check of the newest revision; all answers that waited for it share it. */
  countCheck(): void
  countLoad(): void
  countAudit(outcome: 'equal' | 'different'): void
  show(read: () => { objects: number; edges: number; bytes: number; edgeBytes: number }): void
}

export function createMembershipMetrics(registry: Registry): MembershipMetrics {
  const registers = [registry]
  // Plain numbers until they are scraped: a counter with labels takes a hash for each request.
  const counts = { memory: 0, sql: 0, checks: 0 }
  new Counter({
    name: 'masquerade_membership_answers_total',
    help: 'Questions about memberships, by what answered them',
    labelNames: ['source'] as const,
    registers,
    collect() {
      this.reset()
      for (const source of ['memory', 'sql'] as const) this.inc({ source }, counts[source])
    },
  })
  new Counter({
    name: 'masquerade_membership_checks_total',
    help: 'Checks that the membership index has every committed change',
    registers,
    collect() {
      this.reset()
      this.inc(counts.checks)
    },
  })
  const loads = new Counter({
    name: 'masquerade_membership_loads_total',
    help: 'Loads of the membership index from the store',
    registers,
  })
  const audits = new Counter({
    name: 'masquerade_membership_audits_total',
    help: 'Answers from memory that were compared with SQL, by outcome',
    labelNames: ['outcome'] as const,
    registers,
  })
  return {
    countAnswer: (source) => void counts[source]++,
    countCheck: () => void counts.checks++,
    countLoad: () => loads.inc(),
    countAudit: (outcome) => audits.labels(outcome).inc(),
    show(read) {
      new Gauge({
        name: 'masquerade_membership_index',
        help: 'The membership index: its objects, edges, bytes, and the bytes of its edges',
        labelNames: ['what'] as const,
        registers,
        collect() {
          for (const [what, value] of Object.entries(read())) this.labels(what).set(value)
        },
      })
    },
  }
}
