import { Counter, Gauge, type Registry } from 'prom-client'

export interface GatewayMetrics {
  opened(): void
  closed(): void
  refused(sqlstate: string): void
  statement(rewritten: boolean): void
}

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const connections = new Counter({
    name: 'masquerade_gateway_connections_total',
    help: 'Logins through the gateway that succeeded.',
    registers: [registry],
  })
  const open = new Gauge({
    name: 'masquerade_gateway_open_connections',
    help: 'Sessions that are open now.',
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'masquerade_gateway_refusals_total',
    help: 'Connections that the gateway itself ended, by SQLSTATE.',
    labelNames: ['sqlstate'] as const,
    registers: [registry],
  })
  const statements = new Counter({
    name: 'masquerade_gateway_statements_total',
    help: 'Texts of statements relayed, by whether reads were moved to masked views.',
    labelNames: ['moved'] as const,
    registers: [registry],
  })
  const counts = { yes: statements.labels('yes'), no: statements.labels('no') }
  return {
    opened() {
      connections.inc()
      open.inc()
    },
    closed: () => open.dec(),
    refused: (sqlstate) => refusals.inc({ sqlstate }),
    statement: (rewritten) => counts[rewritten ? 'yes' : 'no'].inc(),
  }
}
