import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface Entry {
  readonly action: string
  readonly after: { readonly role: string; readonly statements: readonly { readonly raw?: string[] }[] }
}

describe('user names that PostgreSQL cuts', () => {
  const gateway = useGateway({ MASQUERADE_GATEWAY_CONNECTIONS_PER_ROLE: '2' })

  clause(
    'GATE-182',
    'A user name of more than 63 bytes is cut as PostgreSQL cuts it: limits, masks, audit and standbys…',
    async () => {
      const { masking, masked, db } = gateway
      const role = `exempt_${'é'.repeat(27)}x0`
      assert.equal(Buffer.byteLength(role), 63)
      const { sql } = masked().database
      await sql.unsafe(`create role "${role}" login password 'secret' in role "${masked().role('auditor')}"`)
      try {
        const connect = (rest: string) => gateway.connect('', { user: `${role}${rest}` })
        const client = await connect('and more')
        const { rows } = await client.query('select email from customers order by id limit 1')
        assert.deepEqual(rows, [{ email: 'ann@example.com' }])
        await connect('')
        await assert.rejects(connect('é'), { code: '53300' })
        const isTouch = ({ action, after }: Entry) => action === 'gateway/touch' && after.role === role
        await waitUntil('the raw read is in the audit', async () => {
          const { body } = await masking.send('GET', `${db}/auditEvents`)
          const touches: Entry[] = body.value.filter(isTouch)
          return touches.some(({ after }) => after.statements.some(({ raw }) => raw?.length === 1))
        })
        await client.end()
      } finally {
        await sql.unsafe(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`)
        await sql.unsafe(`drop role "${role}"`)
      }
    },
  )
})
