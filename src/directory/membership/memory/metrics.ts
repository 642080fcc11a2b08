import { Counter, Gauge, type Registry } from 'prom-client'

export interface MembershipMetrics {
  /** `memory` or `sql`, by what answered. */
  countAnswer(source: 'memory' | 'sql'): void
  countLoad(): void
  countAudit(outcome: 'equal' | 'different'): void
  show(read: () => { objects: number; edges: number; bytes: number }): void
}

export function createMembershipMetrics(registry: Registry): MembershipMetrics {
  const registers = [registry]
  const answers = new Counter({
    name: 'masquerade_membership_answers_total',
    help: 'Questions about memberships, by what answered them',
    labelNames: ['source'] as const,
    registers,
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
  const fromMemory = answers.labels('memory')
  const fromSql = answers.labels('sql')
  return {
    countAnswer: (source) => (source === 'memory' ? fromMemory : fromSql).inc(),
    countLoad: () => loads.inc(),
    countAudit: (outcome) => audits.labels(outcome).inc(),
    show(read) {
      new Gauge({
        name: 'masquerade_membership_index',
        help: 'The membership index: its objects, edges and bytes',
        labelNames: ['what'] as const,
        registers,
        collect() {
          for (const [what, value] of Object.entries(read())) this.labels(what).set(value)
        },
      })
    },
  }
}
