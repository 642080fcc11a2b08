import assert from 'node:assert/strict'
import pg from 'pg'
import type { GatewayPorts } from '../../../src/gateway/ports.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'

clause(
  'GATE-190',
  'While the store cannot be asked or written, logins are refused with 57P03:…',
  async () => {
    await using target = await createMaskedDatabase()
    const user = await target.createRole('analyst')
    const fail = async () => {
      throw new Error('the store is away')
    }
    const outages: Partial<GatewayPorts>[] = [
      { findDatabases: fail },
      { admitLogin: fail },
      { recordSession: fail },
    ]
    for (const ports of outages) {
      const gateway = await openBareGateway(
        target.database,
        target.url,
        { allowPlaintext: true },
        {},
        { ports },
      )
      const login = { user, password: 'secret', database: new URL(target.url).pathname.slice(1) }
      const client = new pg.Client({ host: '127.0.0.1', port: gateway.port, ...login })
      try {
        await assert.rejects(client.connect(), { code: '57P03' }, Object.keys(ports)[0])
      } finally {
        await client.end().catch(() => {})
        await gateway.close(0)
      }
    }
  },
)
