import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Gateway } from '../../../src/gateway/gateway.ts'
import { readSeen } from '../../../src/masks/control/watch-catalogs.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { openBareGateway } from '../../support/bare-gateway.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  describe(`changes of the catalog on ${cluster}`, () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gateway: Gateway
    let client: pg.Client
    const enforce = () => takeTurn(target.database, policy([rule('public.t.email', 'Email')]))
    before(async () => {
      target = await createMaskedDatabase(cluster)
      const maker = await target.createRole('maker')
      await target.database.sql.unsafe(`
        create table public.t (id int, email text);
        grant create, usage on schema public to "${maker}"`)
      await enforce()
      gateway = await openBareGateway(target.database, target.url)
      client = new pg.Client({
        host: '127.0.0.1',
        port: gateway.port,
        user: maker,
        password: 'secret',
        database: 'any',
      })
      await client.connect()
    })
    after(async () => {
      await client.end()
      await gateway.close(0)
      await target[Symbol.asyncDispose]()
    })

    const readDrift = () => target.database.sql`delete from masquerade_guard.drift returning transaction`

    clause(
      'GATE-90',
      "A transaction that changes the catalog of a masked database can be prepared and committed in two phases, also where the binding is a superuser's. The…",
      async () => {
        await readDrift()
        const hasDrift = async () => (await readSeen(target.database.sql, 'masquerade_guard')).hasDrift
        await client.query('begin')
        await client.query('create table public.made (id int)')
        await client.query('alter table public.made add column note text')
        await client.query("prepare transaction 'made'")
        assert.equal(await hasDrift(), false)
        await client.query("commit prepared 'made'")
        assert.equal(await hasDrift(), true)
        assert.equal(await hasDrift(), false)
      },
    )

    test('a transaction leaves one row, and none if it is rolled back', async () => {
      await readDrift()
      await client.query(
        'begin; create table public.one (id int); savepoint s; create table public.two (id int)',
      )
      await client.query('rollback to s; create table public.two (id int); commit')
      assert.equal((await readDrift()).length, 1)
      await client.query('begin; drop table public.one; rollback')
      assert.equal((await readDrift()).length, 0)
    })

    test('two transactions that change the catalog do not wait for each other', async () => {
      await client.query('begin; create table public.waits (id int)')
      await target.database.sql.unsafe(`set lock_timeout = '5s'; create table public.passes (id int)`)
      await client.query('rollback')
    })

    test('a change succeeds where its row cannot be written', async () => {
      await target.database.sql.unsafe('alter table masquerade_guard.drift rename to elsewhere')
      await client.query('create table public.three (id int)')
      await target.database.sql.unsafe('alter table masquerade_guard.elsewhere rename to drift')
    })

    test('the trigger of earlier releases, which notified, is replaced', async () => {
      await target.database.sql.unsafe(`
        drop event trigger masquerade_drift; drop function masquerade_guard.note_drift(); drop table masquerade_guard.drift;
        create function masquerade_guard.notify_drift() returns event_trigger language plpgsql as
          $$ begin perform pg_notify('masquerade_drift', ''); end $$;
        create event trigger masquerade_drift on ddl_command_end execute function masquerade_guard.notify_drift()`)
      await enforce()
      assert.deepEqual((await enforce()).steps, [])
      await client.query("begin; create table public.four (id int); prepare transaction 'four'")
      await client.query("commit prepared 'four'")
      assert.equal((await readDrift()).length, 1)
    })
  })
})
