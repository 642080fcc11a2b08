import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createTestLogins } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

forEachCluster((cluster) => {
  describe('login roles that come with a password of their own', () => {
    let target: Target
    let other: Target
    let gateways: Gateway[] = []
    const made: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    before(async () => {
      target = await createMaskedDatabase(cluster)
      other = await createMaskedDatabase(cluster)
      gateways = [
        await openBareGateway(target.database, target.url),
        await openBareGateway(other.database, other.url, {}, {}, { workers: 2 }),
      ]
    })
    after(async () => {
      for (const gateway of gateways) await gateway.close(0)
      for (const name of made) await run(`drop role if exists "${name}"`)
      await other?.[Symbol.asyncDispose]()
      await target?.[Symbol.asyncDispose]()
    })

    const connect = async (gateway: Gateway, user: string, options = '') => {
      const client = new pg.Client({
        host: '127.0.0.1',
        port: gateway.port,
        user,
        password: 'mine',
        database: 'one',
        ...(options && { options }),
      })
      client.on('error', () => {})
      try {
        await client.connect()
        await client.query('select 1')
      } finally {
        await client.end().catch(() => {})
      }
    }

    clause(
      'GATE-10',
      'A person who gives their userPrincipalName as the user and their access token as the…',
      async () => {
        const readers = await target.createRole('readers', 'NOLOGIN')
        const directory = createTestLogins(target.database)
        for (const name of [
          'ana@contoso.com',
          `${'long'.repeat(20)}@contoso.com`,
          '8d5d4f6c-0f3e-4a43-9b52-6f2ed3c3a9f1',
        ]) {
          const outcome = await directory.prepare(directory.add(name, [readers]))
          if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
          made.push(outcome.login.role)
          await run(`alter role "${outcome.login.role}" password 'mine'`)
        }
        const [ana = '', cut = '', application = ''] = made
        assert.ok(!cut.includes('@'))
        for (const gateway of gateways) {
          // By their form they are asked for a token, which a password is not.
          for (const name of [ana, application])
            await assert.rejects(connect(gateway, name), { code: '28P01' }, name)
          // However the session is set up.
          for (const options of ['', '-c search_path=public', `-c role=${readers}`])
            await assert.rejects(connect(gateway, cut, options), { code: '28000', message: /access token/ })
          // A client without the password learns nothing.
          await run(`alter role "${cut}" password 'another'`)
          await assert.rejects(connect(gateway, cut), { code: '28P01', message: /^password authentication/ })
          await run(`alter role "${cut}" password 'mine'`)
        }
        const renamed = target.role('renamed')
        made.push(renamed)
        await run(`alter role "${cut}" rename to "${renamed}"; alter role "${renamed}" password 'mine'`)
        for (const gateway of gateways) await assert.rejects(connect(gateway, renamed), { code: '28000' })
        // A slash or another comment refuses no client.
        const plain = `plain/${target.role('x')}`
        made.push(plain)
        await run(
          `create role "${plain}" login password 'mine'; comment on role "${plain}" is 'no masquerade login'`,
        )
        for (const gateway of gateways) await connect(gateway, plain)
      },
    )
  })
})
