import { Counter, Gauge, type Registry } from 'prom-client'
import type { Touched } from './audit/touch.ts'
import { type LoginFailure, loginFailures } from './login/login-failures.ts'

/** How the gateway treated the text of a statement. */
export type StatementOutcome = 'moved' | 'plain' | 'unparsed'

export interface GatewayMetrics {
  opened(): void
  closed(traffic: Traffic): void
  refused(sqlstate: string): void
  loginFailed(failure: LoginFailure): void
  statement(outcome: StatementOutcome): void
  touched(touched: Touched): void
  auditLost(count: number): void
}

/** Bytes of a session. */
export interface Traffic {
  readonly received: number
  readonly sent: number
}

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const registers = [registry]
  const connections = new Counter({
    name: 'masquerade_gateway_connections_total',
    help: 'Logins through the gateway that succeeded.',
    registers,
  })
  const open = new Gauge({
    name: 'masquerade_gateway_open_connections',
    help: 'Sessions that are open now.',
    registers,
  })
  const refusals = new Counter({
    name: 'masquerade_gateway_refusals_total',
    help: 'Connections that the gateway itself ended, by SQLSTATE.',
    labelNames: ['sqlstate'] as const,
    registers,
  })
  const failures = new Counter({
    name: 'masquerade_gateway_failed_logins_total',
    help: 'Logins that failed, by reason.',
    labelNames: ['reason'] as const,
    registers,
  })
  for (const reason of loginFailures) failures.inc({ reason }, 0)
  const touches = new Counter({
    name: 'masquerade_gateway_touched_columns_total',
    help: 'Masked columns in statements: read raw, read through masks, denied, or written.',
    labelNames: ['how'] as const,
    registers,
  })
  const lost = new Counter({
    name: 'masquerade_gateway_audit_lost_total',
    help: 'Entries of the audit that were given up because the store did not take them.',
    registers,
  })
  const bytes = new Counter({
    name: 'masquerade_gateway_client_bytes_total',
    help: 'Bytes of sessions that are over, by whether they came from clients or went to them.',
    labelNames: ['direction'] as const,
    registers,
  })
  const statement = countStatements(registers)
  return {
    opened() {
      connections.inc()
      open.inc()
    },
    closed({ received, sent }) {
      open.dec()
      bytes.inc({ direction: 'received' }, received)
      bytes.inc({ direction: 'sent' }, sent)
    },
    refused: (sqlstate) => refusals.inc({ sqlstate }),
    loginFailed: (reason) => failures.inc({ reason }),
    statement,
    touched({ touches: list }) {
      for (const touch of list)
        for (const how of ['raw', 'masked', 'denied', 'written'] as const)
          if (touch[how].length > 0) touches.inc({ how }, touch[how].length * touch.count)
    },
    auditLost: (count) => lost.inc(count),
  }
}

/** Sessions that are open now in all workers of this node. */
export async function readOpenSessions(registry: Registry): Promise<number> {
  const gauge = await registry.getSingleMetric('masquerade_gateway_open_connections')?.get()
  return Number(gauge?.values[0]?.value ?? 0)
}

/** Counted by hand: this happens for every statement, and the library looks at labels each time. */
function countStatements(registers: Registry[]): (outcome: StatementOutcome) => void {
  const counts = { moved: 0, plain: 0, unparsed: 0 }
  new Counter({
    name: 'masquerade_gateway_statements_total',
    help: 'Texts of statements relayed: moved to masked views, plain, or unparsed (too long, or not understood).',
    labelNames: ['outcome'] as const,
    registers,
    collect() {
      this.reset()
      for (const [outcome, count] of Object.entries(counts)) this.inc({ outcome }, count)
    },
  })
  return (outcome) => {
    counts[outcome]++
  }
}
