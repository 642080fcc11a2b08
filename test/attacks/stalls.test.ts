import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { clause } from '../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../support/masking.ts'
import { forUsualCluster } from '../support/postgres.ts'
import { promised, waitUntil } from '../support/wait-until.ts'
import { harmless, locks, type Stall } from './cases/stalls.ts'

const canary = 'zqcanary'
const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600', MASQUERADE_LOCK_LIMIT_SECONDS: '1' })
const isAll = process.env.MASQUERADE_TEST_ALL !== undefined
const all = [...locks, ...harmless]
const tableOf = (stall: Stall) => `app.t${all.indexOf(stall)}`

forUsualCluster((cluster) => {
  for (const isSuperuser of isAll ? [true, false] : [false]) {
    // All at once on each version, with each binding; one by one takes minutes.
    const isOneByOne = isAll && cluster === 'embedded-18' && !isSuperuser
    describe(`stalls, with a binding that ${isSuperuser ? 'is a superuser' : 'owns the tables'}`, () => {
      const db = freshDatabase()
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      const clients: pg.Client[] = []
      const exempt = (exemptPrincipals = '') =>
        masking.putPolicy(db, { dataMaskingState: 'Enabled', exemptPrincipals })
      const reads = async (table: string) => {
        const rows = await target
          .runAs('auditor', `select mail from ${table}`)
          .catch((error: Error) => error.message)
        return JSON.stringify(rows).includes(canary)
      }
      /** A read would wait for the lock. */
      const mayRead = async (stall: Stall) => {
        const [row] = await target.database.sql<{ may: boolean }[]>`
          select has_column_privilege(${target.role('auditor')}, ${tableOf(stall)}, 'mail', 'select') as may`
        return row?.may === true
      }
      const open = async () => {
        const client = new pg.Client({
          connectionString: target.urlOf('analyst'),
          options: '-c lock_timeout=5s',
        })
        client.on('error', () => {})
        await client.connect()
        clients.push(client)
        return client
      }
      const begin = async (stall: Stall) => {
        const client = await open()
        const table = tableOf(stall)
        const fill = (text: string) =>
          text
            .replaceAll('{T}', table)
            .replaceAll('{V}', `masked_${table}`)
            .replaceAll('{L}', 'lair')
            .replaceAll('{N}', table.replace('app.', ''))
        for (const text of stall.run.split(/;;\s+/))
          await client
            .query(fill(text))
            .catch((error: Error) => assert.fail(`${stall.id}: ${text}: ${error.message}`))
        if (stall.endless !== undefined) client.query(fill(stall.endless)).catch(() => {})
      }

      before(async () => {
        target = await createMaskedDatabase(cluster)
        const [analyst, auditor] = [await target.createRole('analyst'), await target.createRole('auditor')]
        const owner = await target.createRole('owner', 'LOGIN CREATEROLE')
        const { sql } = target.database
        const tables = ['app.free', ...all.map(tableOf)]
        await sql.unsafe(`create schema app authorization "${owner}"; grant usage on schema app to public;
          create schema lair authorization "${analyst}"; grant pg_signal_backend to "${owner}";
          do $$ begin execute format('grant create on database %I to "${analyst}", "${owner}"', current_database());
          end $$`)
        for (const table of tables)
          await sql.unsafe(`create table ${table} (id int, mail text); insert into ${table} values (1, '${canary}');
            alter table ${table} owner to "${owner}"; grant select, insert, update on ${table} to "${analyst}",
            "${auditor}"`)
        await masking.send('PUT', db.replace(/\/databases\/.*/, ''), {})
        const binding = bindingOf(isSuperuser ? target.url : target.urlOf('owner'))
        const bound = await masking.send('PUT', db, { properties: { binding } })
        assert.equal(bound.status, 201, bound.text)
        await masking.putPolicy(db, { dataMaskingState: 'Disabled' })
        for (const table of tables) {
          const [schemaName, tableName = ''] = table.split('.')
          const column = { schemaName, tableName, columnName: 'mail', maskingFunction: 'Default' }
          const put = await masking.putRule(db, tableName, column)
          assert.equal(put.status, 201, put.text)
        }
      })
      after(() => target[Symbol.asyncDispose]())

      /** Withdraws the exemption under all of them: what none of them blocks is closed at once, the rest soon. */
      const play = async (stalls: readonly Stall[]) => {
        const { headers } = await exempt(target.role('auditor'))
        assert.equal(headers.get('x-masquerade-enforcement'), 'Enforced')
        assert.ok(await reads('app.free'))
        for (const stall of stalls) assert.ok(await mayRead(stall), 'the exemption is in force')
        try {
          for (const stall of stalls) await begin(stall)
          const from = Date.now()
          await exempt()
          const waited = Date.now() - from
          assert.equal(await reads('app.free'), false, `after ${waited} ms`)
          assert.ok(waited < promised(10_000), `the answer took ${waited} ms`)
          let open: Stall[] = [...stalls]
          await waitUntil('the rest is closed', async () => {
            const now = await Promise.all(open.map(mayRead))
            open = open.filter((_, at) => now[at])
            if (Date.now() - from > promised(10_000))
              assert.deepEqual(
                open.map(({ id }) => id),
                [],
              )
            return open.length === 0
          })
        } finally {
          for (const client of clients.splice(0)) void client.end().catch(() => {})
        }
        await waitUntil('the policy is enforced', async () => {
          const { body } = await masking.send('GET', `${policyUrl(db)}/enforcement`)
          return body.state === 'Enforced'
        })
        await target.database.sql.unsafe(`drop schema lair cascade;
          create schema lair authorization "${target.role('analyst')}"`)
      }

      clause(
        'ENF-73',
        'A withdrawn exemption ends raw reads within two seconds while another …',
        async () => {
          await play(locks)
          if (isOneByOne) for (const stall of locks) await play([stall])
        },
      )
      clause('ENF-10', 'A masked role cannot block the controller with a lock that every …', async () => {
        await play(harmless)
        if (isOneByOne) for (const stall of harmless) await play([stall])
      })
    })
  }
})
