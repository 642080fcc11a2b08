import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { noteOlderSessions } from '../../../src/enforcement/sessions/older-sessions.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** What a role prepared before the first rule, or under its exemption, and uses afterwards. */
forEachCluster((cluster) => {
  for (const isSuperuser of [true, false])
    describe(`from before the rule, with ${isSuperuser ? "a superuser's binding" : 'a binding that owns the tables'}`, () => {
      let target: Awaited<ReturnType<typeof createMaskedDatabase>>
      let binding: Database
      let [analyst, auditor]: string[] = []
      const clients: pg.Client[] = []
      const rules = [rule('app.people.mail')]
      const run = (text: string) => target.database.sql.unsafe(text)
      const mask = (exemptRoles: readonly string[] = []) => reconcile(binding, policy(rules, exemptRoles))
      const open = async (name: string) => {
        const client = new pg.Client({ connectionString: target.urlOf(name) })
        client.on('error', () => {})
        await client.connect()
        clients.push(client)
        return client
      }
      const isDenied = (client: pg.Client, text: string) =>
        assert.rejects(client.query(text), /permission denied/, text)
      const first = async (client: pg.Client, text: string) =>
        Object.values((await client.query(text)).rows[0] ?? {})[0]

      before(async () => {
        target = await createMaskedDatabase(cluster)
        analyst = await target.createRole('analyst')
        auditor = await target.createRole('auditor')
        const owner = await target.createRole('owner', 'LOGIN CREATEROLE')
        const database = target.url.replace(/^.*\//, '')
        await run(`create schema app; grant usage on schema app to public;
          create table app.people (id int primary key, mail text); insert into app.people values (1, '${canary}');
          alter schema app owner to "${owner}"; alter table app.people owner to "${owner}";
          grant select, update on app.people to "${analyst}", "${auditor}";
          grant create on database "${database}" to "${analyst}", "${owner}"`)
        binding = isSuperuser ? target.database : target.connectAs('owner')
      })
      afterEach(async () => {
        for (const client of clients.splice(0)) await client.end().catch(() => {})
        await reconcile(binding, policy([]))
      })
      after(() => target[Symbol.asyncDispose]())

      clause(
        'ENF-146',
        'A snapshot that was exported before a rule, or before an exemption was withdrawn, shows no raw value to a session…',
        async () => {
          const keep = async (name: string) => {
            const keeper = await open(name)
            await keeper.query('begin isolation level repeatable read')
            return String(await first(keeper, 'select pg_export_snapshot()'))
          }
          const readUnder = async (name: string, snapshot: string) => {
            const reader = await open(name)
            const begin = `begin isolation level repeatable read; set transaction snapshot '${snapshot}'`
            for (const text of [
              'select mail from app.people',
              'select p::text from app.people p',
              'copy app.people (mail) to stdout',
              'declare c cursor for select mail from app.people',
              'update app.people set id = id returning mail',
            ]) {
              await reader.query(begin)
              await isDenied(reader, text)
              await reader.query('rollback')
            }
            // The twin is found although the snapshot is older than it.
            await reader.query(begin)
            assert.equal(await first(reader, 'select mail from masked_app.people'), 'XXXX')
            await reader.query('rollback')
          }
          const beforeRule = await keep('analyst')
          const own = await open('analyst')
          await own.query('begin isolation level repeatable read; select 1')
          await mask()
          await readUnder('analyst', beforeRule)
          await isDenied(own, 'select mail from app.people')
          await mask([String(auditor)])
          const underExemption = await keep('auditor')
          await mask()
          for (const name of ['auditor', 'analyst']) await readUnder(name, underExemption)
        },
      )

      clause(
        'ENF-147',
        'Temporary objects, schemas and search paths of a masked role that shadow names of the controller, the twins or…',
        async () => {
          const attacker = await open('analyst')
          await attacker.query(`create schema shadow; create table shadow.log (name text); grant all on schema shadow to public;
            grant insert on shadow.log to public`)
          const spy = 'insert into shadow.log values (current_user)'
          for (const schema of ['shadow', 'pg_temp'])
            await attacker.query(`
              create function ${schema}.left(text, int) returns text language sql as '${spy}; select $1';
              create function ${schema}.to_regclass(text) returns regclass language sql as '${spy}; select null::regclass';
              create function ${schema}.txid_current() returns bigint language sql as '${spy}; select 1::bigint';
              create function ${schema}.pg_has_role(name, oid, text) returns boolean language sql as '${spy}; select true'`)
          for (const schema of ['shadow', 'pg_temp'])
            for (const name of [
              'relation',
              'policy',
              'drift',
              'pg_class',
              'pg_roles',
              'pg_namespace',
              'people',
            ])
              await attacker.query(`create table ${schema}.${name} (oid oid, mail text)`)
          await attacker.query(`create domain pg_temp.text as varchar; create domain shadow.name as varchar;
            set search_path = pg_temp, shadow, masked_app, app, pg_catalog`)
          await mask()
          assert.equal(await first(attacker, 'select mail from masked_app.people'), 'XXXX')
          await isDenied(attacker, 'select mail from app.people')
          // Only what it shadows for itself has changed: its own table, without rows.
          assert.equal(await first(attacker, 'select mail from people'), undefined)
          if (isSuperuser) await run('delete from masquerade_guard.drift')
          await attacker.query('create table shadow.late (id int)')
          if (isSuperuser) assert.equal((await run('select from masquerade_guard.drift')).length, 1)
          await attacker.query(`create or replace view shadow.steal as select mail from app.people`)
          await mask()
          await isDenied(attacker, 'select * from shadow.steal')
          assert.deepEqual((await mask()).steps, [])
          const log = await run(`select distinct name from shadow.log where name <> '${analyst}'`)
          assert.deepEqual([...log], [])
          await attacker.end()
          await run('drop schema shadow cascade')
        },
      )

      clause(
        'ENF-148',
        'Sessions of masked roles that are older than the last mask may keep rows from before it, in cursors WITH HOLD and…',
        async () => {
          const holder = await open('analyst')
          await holder.query(`begin; declare held cursor with hold for select mail from app.people; commit;
            create temp table kept as select mail from app.people`)
          const exempted = await open('auditor')
          await exempted.query('select 1')
          await mask([String(auditor)])
          const later = await open('analyst')
          await later.query('select 1')
          const notes = await noteOlderSessions(binding.sql, 'masquerade_guard')
          assert.deepEqual(
            notes.map(({ code, target: role }) => [code, role]),
            [['OpenSession', String(analyst)]],
          )
          const [message = ''] = notes.map((note) => note.message)
          assert.match(message, new RegExp(`^1 session of role "${analyst}" began before the last mask`))
          const statement = /SELECT pg_terminate_backend.*(?=\.$)/.exec(message)?.[0] ?? ''
          await run(statement)
          await assert.rejects(holder.query('fetch 1 from held'))
          assert.equal(await first(later, 'select 1'), 1)
          await waitUntil(
            'the note goes with the session',
            async () => (await noteOlderSessions(binding.sql, 'masquerade_guard')).length === 0,
          )
        },
      )

      clause(
        'ENF-149',
        'A transaction that was prepared before a rule and is committed after it opens nothing: views and functions in it…',
        async () => {
          const attacker = await open('analyst')
          const gid = `early ${analyst}`
          await attacker.query(`begin; create schema early; create view early.v as select mail from app.people;
            create function early.f() returns setof text language sql security definer as 'select mail from app.people';
            grant usage on schema early to public; grant select on early.v to public; prepare transaction '${gid}'`)
          await mask()
          await attacker.query(`commit prepared '${gid}'`)
          const reader = await open('auditor')
          for (const client of [attacker, reader])
            for (const text of ['select mail from early.v', 'select early.f()']) await isDenied(client, text)
          await mask()
          if (isSuperuser) assert.equal(await first(reader, 'select mail from masked_early.v'), 'XXXX')
          assert.deepEqual((await mask()).steps, [])
          await run('drop schema early cascade')
        },
      )
    })
})
