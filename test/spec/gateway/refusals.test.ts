import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe } from 'node:test'
import pg from 'pg'
import { ByteReader } from '../../../src/wire/byte-reader.ts'
import { message, readFields } from '../../../src/wire/messages.ts'
import { writeStartup } from '../../../src/wire/startup.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { freshDatabase } from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

describe('directory logins that are refused', () => {
  const gateway = useGateway()

  const attempt = async (localAddress: string, user = 'nobody@example.com'): Promise<string | undefined> => {
    const socket = connect({ port: gateway.port(), host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    const reader = new ByteReader(socket)
    const parameters = { user, database: gateway.name }
    socket.write(Buffer.concat([writeStartup(Object.entries(parameters)), message('p', 'wrong\0')]))
    const asked = await reader.takeFrame(1 << 16)
    assert.equal(asked.readUInt32BE(5), 3)
    const answer = await reader.takeFrame(1 << 16)
    socket.destroy()
    return new Map(readFields(answer)).get('C')
  }
  clause(
    'GATE-226',
    'The audit has at most 256 characters of the name of a refused login and 512 of the reason. Half…',
    async () => {
      const from = '127.0.0.3'
      const name = `${'n'.repeat(255)}😀`
      assert.equal(await attempt(from, `${name}@example.com`), '28P01')
      const entry = await waitUntil('the refusal is audited', async () => {
        const [found] = await gateway.masking.service().database.sql`
          select after ->> 'name' as name from masquerade.audit_event
          where action = 'gateway/refuse' and after ->> 'from' = ${from}`
        return found
      })
      assert.equal(entry?.name, `${'n'.repeat(255)}\ufffd`)
    },
  )

  clause(
    'GATE-180',
    'A login to a database that is bound to the address and port of the gateway itself is refused with 08001, and opens no other connection…',
    async () => {
      const db = freshDatabase()
      const name = db
        .replaceAll(/\/(?:subscriptions|resourceGroups|providers\/[^/]+\/servers|databases)\//gi, '/')
        .slice(1)
      const [host, port] = ['127.0.0.1', gateway.port()]
      await gateway.masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
      const binding = { host, port, database: name, user: 'anyone', password: 'x', sslmode: 'disable' }
      const put = await gateway.masking.send('PUT', db, { properties: { binding } })
      assert.equal(put.status, 201, put.text)
      for (const user of ['anyone', 'nobody@example.com']) {
        const client = new pg.Client({ host, port, user, password: 'x', database: name })
        await assert.rejects(client.connect(), { code: '08001', message: /bound to this gateway itself/ })
      }
    },
  )
})
