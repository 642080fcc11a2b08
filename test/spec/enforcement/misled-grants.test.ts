import assert from 'node:assert/strict'
import { after, before, beforeEach, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

/**
 * A masked role owns two schemas and a masked table in one of them. While a change of grants by OID has read the names and does not use
 * them yet, the role exchanges names and makes the change itself. An event trigger makes that moment as long as it takes.
 */
forEachCluster((cluster) => {
  describe('misled changes of grants', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let gate: Database
    let mallory: Database
    let [owner, maker, friend, m, decoy] = ['', '', '', '', '']
    const run = (text: string) => target.database.sql.unsafe(text)
    const act = (text: string) => mallory.sql.unsafe(text)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      owner = await target.createRole('owner', 'NOLOGIN')
      maker = await target.createRole('mallory', 'LOGIN CREATEROLE')
      friend = await target.createRole('friend')
      m = await target.createRole('m', 'NOLOGIN')
      decoy = await target.createRole('decoy', 'NOLOGIN')
      await run(`grant "${m}", "${decoy}" to "${maker}" with admin option;
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${maker}"`)
      gate = openDatabase({ url: target.url, poolSize: 1 })
      mallory = openDatabase({ url: target.urlOf('mallory'), poolSize: 1, searchPath: 'public' })
    })
    after(async () => {
      await gate.close()
      await mallory.close()
      await target[Symbol.asyncDispose]()
    })
    beforeEach(async () => {
      await reconcile(target.database, policy([]))
      for (const schema of ['app', 'lair', 'vault']) await run(`drop schema if exists ${schema} cascade`)
      await run(`create schema app; grant usage on schema app to public; create schema lair authorization "${maker}";
        create schema vault authorization "${maker}"; create table lair.person (id int, mail text);
        create table vault.person (id int, mail text); alter table lair.person owner to "${maker}";
        alter table vault.person owner to "${owner}"`)
    })

    /**
     * Masks the role's table. Statements that have its name fail, as they do while another session changes the same grants; the first
     * one by OIDs with the tag waits before it begins, and before its result is looked at.
     */
    const enforce = async (
      tag: 'GRANT' | 'REVOKE',
      atStart: () => PromiseLike<unknown>,
      atEnd: () => PromiseLike<unknown>,
    ) => {
      await run(`create function app.hold() returns event_trigger language plpgsql set lock_timeout = '30s' as $$ begin
          if session_user = '${maker}' then return; end if;
          if current_query() !~ 'missed' then
            if current_query() ~ '"lair"."person"' then raise internal_error using message = 'tuple concurrently updated'; end if;
          elsif tg_tag = '${tag}' then perform pg_advisory_xact_lock_shared(case tg_event when 'ddl_command_start' then 1 else 2 end);
            -- A new lock on a relation: the session hears of other names.
            perform pg_relation_size('pg_ts_parser'::regclass);
          end if; end $$;
        create event trigger hold_start on ddl_command_start execute function app.hold();
        create event trigger hold_end on ddl_command_end execute function app.hold()`)
      await gate.sql`select pg_advisory_lock(1), pg_advisory_lock(2)`
      let isOver = false
      const turn = reconcile(target.database, policy([rule('lair.person.mail')])).then(
        () => [],
        (error: unknown) => {
          assert.ok(error instanceof PartlyEnforced, String(error))
          return error.unfinished
        },
      )
      const ended = turn.finally(() => {
        isOver = true
      })
      try {
        for (const [key, action] of [atStart, atEnd].entries()) {
          const isHeld = async () =>
            isOver ||
            (
              await run(`select 1 from pg_locks where locktype = 'advisory' and objid = ${key + 1} and not granted
              and database = (select oid from pg_database where datname = current_database())`)
            ).length > 0
          await waitUntil('the statement waits', isHeld, { everyMs: 2 })
          assert.equal(isOver, false)
          await action()
          await gate.sql`select pg_advisory_unlock(${key + 1})`
        }
      } finally {
        await gate.sql`select pg_advisory_unlock_all()`
        await ended
        await run('drop event trigger hold_start; drop event trigger hold_end')
      }
      return ended
    }
    const exchangeSchemas =
      'alter schema lair rename to away; alter schema vault rename to lair; alter schema away rename to vault'
    const holds = async (role: string, table: string) =>
      (await run(`select has_column_privilege('${role}', '${table}', 'id', 'select') as can`))[0]?.can

    const stays =
      'A change of a grant by OID is kept only where it reached the relation and the roles that it was meant for:'

    clause('ENF-306', `${stays}…`, async () => {
      await run(`grant select on lair.person to "${friend}"`)
      const unfinished = await enforce(
        'GRANT',
        () => act(`begin; ${exchangeSchemas}; grant select (id) on vault.person to "${friend}"; commit`),
        () => act(`begin; ${exchangeSchemas}; commit`),
      )
      assert.equal(await holds(friend, 'vault.person'), false)
      assert.equal(await holds(friend, 'lair.person'), true)
      assert.deepEqual(unfinished, [])
    })

    clause('ENF-306', `${stays}…`, async () => {
      await run(`grant select on lair.person, vault.person to "${friend}"`)
      const unfinished = await enforce(
        'REVOKE',
        async () => {
          await act(`begin; ${exchangeSchemas}; commit`)
          // The turn holds the grants that it is about to change (ENF-458).
          await assert.rejects(
            act(`set lock_timeout = '100ms'; revoke select on vault.person from "${friend}"`),
          )
        },
        () => act(`begin; ${exchangeSchemas}; commit`),
      )
      assert.equal(await holds(friend, 'vault.person'), true)
      assert.equal(await holds(friend, 'lair.person'), true)
      assert.deepEqual(unfinished, [])
    })

    clause('ENF-306', `${stays}…`, async () => {
      await run(`grant select on lair.person to "${m}"`)
      const exchange = `alter role "${m}" rename to "${m}_"; alter role "${decoy}" rename to "${m}"; alter role "${m}_" rename to "${decoy}"`
      const unfinished = await enforce(
        'GRANT',
        () => act(`begin; ${exchange}; grant select (id) on lair.person to "${decoy}"; commit`),
        () => act(`begin; ${exchange}; commit`),
      )
      assert.equal(await holds(decoy, 'lair.person'), false)
      assert.equal(await holds(m, 'lair.person'), true)
      assert.deepEqual(unfinished, [])
    })
  })
})
