import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { clause } from '../../support/clause.ts'
import { hookLease } from '../../support/hooked-lease.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** A masked role that may rename roles, and change a schema of its own, does so while a turn goes on. */
forEachCluster((cluster) => {
  describe('renamed roles and busy schemas', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let sessions: Database[]
    let [owner, mallory, m, decoy] = ['', '', '', '']
    const run = (text: string) => target.database.sql.unsafe(text)
    const act = (session: number, text: string) => sessions[session]?.sql.unsafe(text)
    /** A statement is sent when it is waited for. */
    const start = async (text: string) => await act(0, text)
    const isDenied = (name: string, text: string) =>
      assert.rejects(target.runAs(name, text), /permission denied/, text)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      owner = await target.createRole('owner', 'NOLOGIN')
      mallory = await target.createRole('mallory', 'LOGIN CREATEROLE')
      m = await target.createRole('m', 'NOLOGIN')
      decoy = await target.createRole('decoy', 'NOLOGIN')
      await target.createRole('friend')
      await run(`grant "${m}", "${decoy}" to "${mallory}" with admin option;
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${mallory}";
        alter role "${mallory}" set synchronous_commit = off`)
      sessions = Array.from({ length: 3 }, () =>
        openDatabase({ url: target.urlOf('mallory'), poolSize: 1, statementTimeoutMs: 60_000 }),
      )
    })
    after(async () => {
      for (const session of sessions) await session.close()
      await target[Symbol.asyncDispose]()
    })
    beforeEach(async () => {
      await reconcile(target.database, policy([]))
      for (const schema of ['app', 'lair', 'vault', 'busy'])
        await run(`drop schema if exists ${schema} cascade`)
      await run(`create schema app; grant usage on schema app to public; create schema lair authorization "${mallory}";
        create schema vault authorization "${mallory}"; grant usage on schema vault to public; create table app.switch ();
        grant select on app.switch to public`)
      for (const table of ['app.person', 'app.other', 'vault.person'])
        await run(
          `create table ${table} (id int, mail text, phone text); alter table ${table} owner to "${owner}"`,
        )
    })

    /** Repeats statements, each in a transaction of its own, until the switch is gone. */
    const repeat = async (declarations: string, statements: string) => {
      const loop = start(
        `do $$ declare n int := 0; ${declarations} begin loop exit when to_regclass('app.switch') is null;
          n := n + 1; ${statements}; commit; perform pg_sleep(0.003); end loop; end $$`,
      )
      return {
        async stop() {
          await run('drop table app.switch')
          await loop
        },
      }
    }
    /** Renames the role all the time. */
    const repeatRenaming = async () => {
      const { stop } = await repeat(
        `cur text := '${m}'; nxt text;`,
        `nxt := '${m}_' || n; execute format('alter role %I rename to %I', cur, nxt); cur := nxt`,
      )
      const find = async () =>
        (await run(`select rolname::text as name from pg_roles where rolname ~ '^${m}_[0-9]+$'`))[0]?.name
      await waitUntil('the role is being renamed', find)
      return {
        async stop() {
          await stop()
          await run(`alter role "${await find()}" rename to "${m}"`)
        },
      }
    }
    const waits = (relation: string) =>
      waitUntil(
        'the turn waits',
        async () =>
          (
            await run(
              `select 1 as one from pg_locks where not granted and relation = '${relation}'::regclass`,
            )
          )[0],
        { everyMs: 2 },
      )
    const enforce = async (database: Database, columns: readonly string[]) => {
      const wanted = policy(columns.map((column) => rule(column)))
      return await reconcile(database, wanted).then(
        () => [],
        (error: unknown) => {
          assert.ok(error instanceof PartlyEnforced, String(error))
          return error.unfinished
        },
      )
    }

    clause(
      'ENF-291',
      'A turn is committed only where masked roles have lost what they were to lose, by the access lists of the relations…',
      async () => {
        await run(`grant select on app.person to "${m}"`)
        await act(0, 'create view lair.v as select id from app.person')
        await enforce(target.database, ['app.person.mail'])
        await act(0, 'create or replace view lair.v as select id from app.person where id > 0')
        await act(0, 'begin; select from masked_app.person')
        await act(1, "begin; comment on view masked_lair.v is 'x'")
        const wider = policy([rule('app.person.mail'), rule('app.person.phone')])
        const turn = reconcile(target.database, wider, { lockTimeoutMs: 20_000 })
        await waits('masked_app.person')
        await act(
          2,
          `begin; alter role "${m}" rename to "${m}_"; alter role "${decoy}" rename to "${m}"; commit`,
        )
        await act(0, 'commit')
        await waits('masked_lair.v')
        await act(
          2,
          `begin; alter role "${m}" rename to "${decoy}"; alter role "${m}_" rename to "${m}"; commit`,
        )
        await act(1, 'commit')
        await turn
        await isDenied('mallory', 'select phone from app.person')
        assert.equal(
          (await run(`select has_column_privilege('${m}', 'app.person', 'id', 'select') as can`))[0]?.can,
          true,
        )
      },
    )

    for (const isTwinOwnerThere of [true, false])
      clause(
        'ENF-292',
        'A role that is renamed all the time delays the closing of no relation of another owner, and…',
        async () => {
          await run(`grant select on app.person to "${m}", public; grant select on app.other to public`)
          if (isTwinOwnerThere) await enforce(target.database, ['app.person.mail'])
          const renaming = await repeatRenaming()
          await enforce(target.database, ['app.person.mail', 'app.person.phone', 'app.other.mail']).finally(
            renaming.stop,
          )
          await isDenied('friend', 'select phone from app.person')
          await isDenied('friend', 'select mail from app.other')
          await isDenied('mallory', 'select phone from app.person')
        },
      )

    clause(
      'ENF-292',
      'A role that is renamed all the time delays the closing of no relation of another owner, and of no former twin (ENF-280): what it and all other roles were granted is revoked by OID.',
      async () => {
        await run(
          `insert into app.person values (1, 'a', 'b'); grant select on app.person to "${m}", public; grant insert on app.person to "${m}"`,
        )
        await enforce(target.database, ['app.person.mail'])
        await run('create view app.report as select phone from masked_app.person')
        await enforce(target.database, [])
        assert.equal((await target.runAs('friend', 'select phone from masked_app.person'))[0]?.phone, 'b')
        await run('alter table app.person rename to people')
        const renaming = await repeatRenaming()
        await enforce(target.database, ['app.people.phone']).finally(renaming.stop)
        for (const name of ['friend', 'mallory'])
          for (const text of ['select phone from masked_app.person', 'select phone from app.people'])
            await isDenied(name, text)
        await run('drop view app.report')
      },
    )

    clause(
      'ENF-291',
      'A turn is committed only where masked roles have lost what they were to lose, by the access lists of the relations and of twins: a role that had another name while its grant was revoked, also for a moment, does not keep it.',
      async () => {
        await run(`grant select on app.other to "${m}"; grant select on app.person, vault.person to public`)
        await reconcile(target.database, policy([rule('app.other.mail', 'Email')]))
        // A session that reads the twin keeps it as it is. Others hold up the changes of the tables before it and after it.
        await act(0, 'begin; select from masked_app.other')
        const holders = await Promise.all(
          ['app.person', 'vault.person'].map(async (table) => {
            const { sql, close } = openDatabase({ url: target.url, poolSize: 1 })
            await sql.unsafe(`begin; grant insert on ${table} to pg_monitor`)
            return { sql, close, pid: (await sql.unsafe('select pg_backend_pid() as pid'))[0]?.pid }
          }),
        )
        let isOver = false
        const turn = enforce(target.database, [
          'app.person.mail',
          'app.other.mail',
          'vault.person.mail',
        ]).finally(() => {
          isOver = true
        })
        const isHeldBy = async (at: number, since = '') => {
          const find = async () => {
            const [row] = await run(
              `select query_start::text as start from pg_stat_activity where ${holders[at]?.pid} = any(pg_blocking_pids(pid))`,
            )
            return isOver || (row && row.start !== since && row)
          }
          const found = await waitUntil('the turn waits', find, { everyMs: 2 })
          return typeof found === 'object' ? found.start : ''
        }
        const exchange = (one: string, other: string) =>
          act(
            2,
            `begin; alter role "${one}" rename to "${m}_"; alter role "${other}" rename to "${one}"; alter role "${m}_" rename to "${other}"; commit`,
          )
        // First the whole turn waits, then that relation by relation.
        await isHeldBy(0, await isHeldBy(0))
        await exchange(m, decoy)
        await holders[0]?.sql.unsafe('rollback')
        await isHeldBy(1)
        await exchange(m, decoy)
        await holders[1]?.sql.unsafe('rollback')
        await turn
        await act(0, 'commit')
        for (const { close } of holders) await close()
        await isDenied('mallory', 'select mail from masked_app.other')
      },
    )

    clause(
      'ENF-307',
      'A relation has its twin after the turn, or after the next one, where a role that is granted the twin, or the table itself, had another name for a moment…',
      async () => {
        const renamings = [
          { what: 'role', place: '', name: m },
          { what: 'table', place: 'app.', name: 'person' },
        ]
        for (const { what, place, name } of renamings) {
          await run(`grant select on app.person to "${m}"`)
          const wanted = policy([rule('app.person.mail')])
          const { steps } = await reconcile(target.database, wanted, { dryRun: true })
          const found = steps.findIndex(({ sql }) => /^GRANT SELECT ON "masked_app"."person" TO/.test(sql))
          assert.ok(found >= 0)
          const rename = (from: string, to: string) =>
            run(`alter ${what} ${place}"${from}" rename to "${to}"`)
          let [isAway, isBack] = [false, false]
          const change = async () => {
            if (isAway && !isBack) {
              await rename(`${name}_`, name)
              isBack = true
            }
            if (isAway) return
            await rename(name, `${name}_`)
            isAway = true
          }
          const beforeStep = async (at: number) => {
            if (isAway || at === found) await change()
          }
          // Once a turn holds the grants of the table, no other session renames it (ENF-458).
          await reconcile(
            target.database,
            wanted,
            what === 'table' ? { lease: hookLease(change) } : { beforeStep },
          )
          assert.ok(isAway)
          if (!isBack) await rename(`${name}_`, name)
          await reconcile(target.database, wanted)
          const [row] = await run(
            `select has_table_privilege('${m}', to_regclass('masked_app.person'), 'select') as can`,
          )
          assert.equal(row?.can, true, what)
          await reconcile(target.database, policy([]))
        }
      },
    )

    clause(
      'ENF-293',
      'A schema that its owner changes all the time delays the closing of no table of another role in it…',
      async () => {
        await run('grant select on vault.person, app.other to public')
        // No superuser, who would keep the schema.
        const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
        await run(`grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}";
          grant "${owner}" to "${binder}"; grant create on schema app to "${owner}"`)
        const changing = await repeat(
          '',
          `if n % 2 = 0 then grant create on schema vault to pg_monitor; else revoke create on schema vault from pg_monitor; end if;
          perform pg_sleep(0.005)`,
        )
        const database = target.connectAs('binder')
        const unfinished = await enforce(database, ['vault.person.mail', 'app.other.mail']).finally(
          changing.stop,
        )
        await isDenied('friend', 'select mail from vault.person')
        await isDenied('friend', 'select mail from app.other')
        assert.deepEqual(
          unfinished.filter(({ isClosed }) => !isClosed),
          [],
        )
        await reconcile(database, policy([]))
      },
    )

    clause(
      'ENF-293',
      'A schema that its owner changes all the time delays the closing of no table of another role in it, and releases no other schema that the role of the binding keeps (ENF-268).',
      async () => {
        await run(`create schema busy authorization "${mallory}"; create table busy.person (id int, mail text);
          grant usage on schema busy to public; alter table busy.person owner to "${owner}"`)
        const rename = (schema: string) =>
          `alter schema ${schema} rename to away; alter schema away rename to ${schema}`
        let [renamed, at] = [0, 0]
        const wanted = policy([rule('busy.person.mail'), rule('vault.person.mail')])
        await reconcile(target.database, wanted, {
          async beforeStep(step) {
            if (step !== 1) return
            if (at++ === 0) {
              await act(0, rename('busy'))
              await act(1, 'begin; grant create on schema busy to pg_monitor')
            }
            await act(0, `set lock_timeout = 100; ${rename('vault')}`)?.then(
              () => renamed++,
              () => {},
            )
          },
        })
        await act(1, 'rollback')
        await act(0, 'reset lock_timeout')
        assert.deepEqual([renamed, at], [1, 2])
      },
    )

    clause(
      'ENF-294',
      'An owner of a masked table that is renamed all the time undoes no change of relations of other owners.',
      async () => {
        await run(
          `create table app.own (id int, mail text); alter table app.own owner to "${m}"; grant select on app.other to public`,
        )
        await enforce(target.database, ['app.own.mail'])
        const renaming = await repeatRenaming()
        await enforce(target.database, ['app.own.mail', 'app.other.mail']).finally(renaming.stop)
        await isDenied('friend', 'select mail from app.other')
        const [row] = await target
          .connectAs('friend')
          .sql.unsafe('select count(*)::int as n from masked_app.other')
        assert.equal(row?.n, 0)
      },
    )
  })
})
