import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { nameAttempts } from '../../../src/enforcement/names.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

/** `app.people` is of the role owner, `app.staff` of the superuser of the binding. The masked role mallory has CREATEROLE. */
forEachCluster((cluster) => {
  describe("owners of twins that others created, with a superuser's binding", () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst, mallory, owner, database]: string[] = []
    const opened: Database[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const readAs = (name: string, text: string) => target.runAs(name, text)
    const ask = async (expression: string) => (await run(`select (${expression}) as answer`))[0]?.answer
    const rules = [rule('app.people.mail'), rule('app.staff.mail')]
    const mask = (beforeStep?: (at: number) => Promise<void>) =>
      reconcile(target.database, policy(rules), beforeStep ? { beforeStep } : {})
    const ownerOf = (twin: string) =>
      ask(
        `select r.rolname from pg_class c join pg_roles r on r.oid = c.relowner where c.oid = '${twin}'::regclass`,
      )
    const servedOid = async () =>
      Number(await ask(`select oid::int8 from pg_roles where rolname = '${owner}'`))
    /** The names that the controller would choose: for the tables of the role owner, and for those of superusers. */
    const listPlaces = async () => [
      { name: `masquerade_twins_${await servedOid()}_${database}`, table: 'people' },
      { name: `masquerade_twins_${database}`, table: 'staff' },
    ]
    /** One session, which keeps the role that it took. */
    const open = (url: string) => {
      const session = openDatabase({ url, poolSize: 1, searchPath: 'public' })
      opened.push(session)
      return session
    }
    const refused = /permission denied for (table|view)/
    const listMakers = async () => {
      const rows =
        await run(`select coalesce(r.rolname, 'public') as role from pg_namespace n, aclexplode(n.nspacl) a
        left join pg_roles r on r.oid = a.grantee
        where n.nspname in ('masked_app', 'masked_lair') and a.privilege_type = 'CREATE' and a.grantee <> n.nspowner
          and not starts_with(coalesce(r.rolname, ''), 'masquerade_twins_')`)
      return rows.map(({ role }) => role)
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      mallory = await target.createRole('mallory', 'LOGIN CREATEROLE')
      owner = await target.createRole('owner', 'NOLOGIN')
      database = target.url.replace(/^.*\//, '')
      await run(`create schema app; grant usage on schema app to public; create schema lair authorization "${mallory}";
        grant usage on schema lair to public;
        create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
        create table app.staff (id int, mail text); insert into app.staff values (1, '${canary}');
        alter table app.people owner to "${owner}";
        grant select on app.people, app.staff to "${analyst}", "${mallory}"`)
    })
    afterEach(async () => {
      for (const session of opened.splice(0)) await session.close()
      await reconcile(target.database, policy([]))
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-260',
      'A role that another role created under the name of an owner of twins is never used as one, whatever its maker kept of it: a session that acts as it or logged in as it, a function, a view. …',
      async () => {
        for (const { name, table } of await listPlaces()) {
          const acting = open(target.urlOf('mallory'))
          await acting.sql.unsafe(
            `create role "${name}" login password 'secret'; grant "${name}" to "${mallory}";
            grant create, usage on schema lair to "${name}"; set role "${name}";
            create function lair.spy() returns setof text language plpgsql security definer as $$
              begin return query execute 'select mail from app.${table}'; end $$;
            grant execute on function lair.spy() to public; create view lair.spied as select mail from app.${table};
            grant select on lair.spied to public`,
          )
          const address = new URL(target.url)
          Object.assign(address, { username: name, password: 'secret' })
          const login = open(address.href)
          await login.sql.unsafe('select 1')
          // The second turn too: what the first one revokes may have been all that was in the way.
          for (const isFirst of [true, false]) {
            const { notes, steps } = await mask()
            const looks: Record<string, () => PromiseLike<unknown>> = {
              'the session that acts as it': () => acting.sql.unsafe(`select mail from app.${table}`),
              'the session that logged in as it': () => login.sql.unsafe(`select mail from app.${table}`),
              'the function of it': () => readAs('mallory', 'select * from lair.spy()'),
              'the view of it': () => readAs('mallory', 'select * from lair.spied'),
            }
            const seers: string[] = []
            for (const [one, look] of Object.entries(looks))
              await look().then(
                () => seers.push(one),
                (error: Error) => assert.match(error.message, refused, one),
              )
            assert.deepEqual(seers, [])
            assert.deepEqual(
              notes.map(({ code, target: on }) => [code, on]),
              [['NameTaken', name]],
            )
            assert.equal(steps.length > 0, isFirst)
            assert.equal(await ask(`has_table_privilege('${name}', 'app.${table}', 'select')`), false)
            for (const one of ['people', 'staff'])
              assert.equal((await readAs('analyst', `select mail from masked_app.${one}`))[0]?.mail, 'XXXX')
            assert.notEqual(await ownerOf(`masked_app.${table}`), name)
          }
          // It is its maker's, and stays as it is.
          await reconcile(target.database, policy([]))
          assert.equal(await ask(`select rolcanlogin from pg_roles where rolname = '${name}'`), true)
          assert.equal(
            Number(
              await ask(
                `select count(*) from pg_roles where rolname ~ '^masquerade_twins_(.*_)?${database}$'`,
              ),
            ),
            1,
          )
          await login.close()
          await run(`drop owned by "${name}"; drop role "${name}"`)
        }
      },
    )

    clause(
      'ENF-260',
      'A role that another role created under the name of an owner of twins is never used as one, …',
      async () => {
        const [server] = await run(`select current_setting('server_version_num')::int as version`)
        if (server?.version < 160000) return
        // The role that created it is gone, and with it every member.
        const [place] = await listPlaces()
        const helper = target.role('helper')
        await readAs('mallory', `create role "${helper}" login createrole password 'secret'`)
        await readAs('helper', `create role "${place?.name}" login password 'secret'`)
        const address = new URL(target.url)
        Object.assign(address, { username: place?.name, password: 'secret' })
        const login = open(address.href)
        await login.sql.unsafe('select 1')
        await readAs('mallory', `drop role "${helper}"`)
        await mask()
        await assert.rejects(login.sql.unsafe('select mail from app.people'), refused)
        await login.close()
        await run(`drop role "${place?.name}"`)
      },
    )

    clause(
      'ENF-261',
      'Tables of an owner for which other roles have all 16 names are closed, without a twin, which a note says.',
      async () => {
        const taken = nameAttempts(String(database), await servedOid())
        for (const name of taken) await readAs('mallory', `create role "${name}"`)
        const { notes } = await mask()
        assert.deepEqual(
          notes.map(({ code, target: on }) => [code, on]),
          [['NoTwin', 'app.people']],
        )
        await assert.rejects(readAs('analyst', 'select mail from app.people'), refused)
        assert.equal((await readAs('analyst', 'select mail from masked_app.staff'))[0]?.mail, 'XXXX')
        for (const name of taken) await run(`drop role "${name}"`)
        assert.deepEqual((await mask()).notes, [])
        assert.equal((await readAs('analyst', 'select mail from masked_app.people'))[0]?.mail, 'XXXX')
      },
    )

    clause(
      'ENF-262',
      'Owners of twins that the service created stay in use after an upgrade, and when the role of the binding is another superuser. …',
      async () => {
        await mask()
        const twins = ['masked_app.people', 'masked_app.staff']
        const owners = await Promise.all(twins.map(ownerOf))
        // As after the role of a former binding was dropped.
        for (const name of owners)
          await run(`revoke "${name}" from current_user; comment on role "${name}" is null`)
        const { notes, steps } = await mask()
        assert.deepEqual(notes, [])
        assert.deepEqual(
          steps.filter(({ sql }) => !/^(GRANT|COMMENT ON ROLE) "masquerade_twins_/.test(sql)),
          [],
        )
        assert.deepEqual((await mask()).steps, [])
        assert.deepEqual(await Promise.all(twins.map(ownerOf)), owners)
        const second = await target.createRole('second', 'SUPERUSER LOGIN')
        const other = target.connectAs('second')
        assert.deepEqual((await reconcile(other, policy(rules))).steps, [])
        assert.ok(second)
      },
    )

    clause(
      'ENF-262',
      'Owners of twins that the service created stay in use after an upgrade, and when the role of the binding is another superuser. One that an earlier release took over from its maker is replaced where it owns a function, or a relation outside the schemas of twins.',
      async () => {
        for (const twin of ['masked_app.people', 'masked_app.staff']) {
          const table = twin.replace('masked_', '')
          for (const spy of [
            `create function lair.spy() returns setof text language plpgsql security definer as $$
              begin return query execute 'select mail from ${table}'; end $$; alter function lair.spy() owner to`,
            `create view lair.spied as select mail from ${table}; grant select on lair.spied to public; alter view lair.spied owner to`,
          ]) {
            await mask()
            const before = await ownerOf(twin)
            await run(
              `revoke "${before}" from current_user; comment on role "${before}" is null; ${spy} "${before}"`,
            )
            await mask()
            assert.deepEqual((await mask()).steps, [])
            const source = spy.includes('function') ? 'lair.spy()' : 'lair.spied'
            await assert.rejects(readAs('mallory', `select * from ${source}`), /permission denied|not exist/)
            assert.equal((await readAs('analyst', `select mail from ${twin}`))[0]?.mail, 'XXXX')
            await run('drop function if exists lair.spy(); drop view if exists lair.spied cascade')
            await reconcile(target.database, policy([]))
            await run(`drop role if exists "${before}"`)
          }
        }
      },
    )

    clause(
      'ENF-263',
      'No role but owners of twins may create in their schemas after a turn, whatever roles are renamed during it. …',
      async () => {
        const [first, second, third] = ['first', 'next', 'third'].map((name) => target.role(name))
        await readAs(
          'mallory',
          `create role "${first}"; create role "${second}"; grant "${first}", "${second}" to "${mallory}";
          grant create, usage on schema lair to "${first}"; set role "${first}";
          create view lair.v as select id from app.people`,
        )
        await mask()
        await readAs(
          'mallory',
          `set role "${first}"; create or replace view lair.v as select id + 0 as id from app.people`,
        )
        let isSwapped = false
        const { steps } = await mask(async (at) => {
          if (at !== 2 || isSwapped) return
          isSwapped = true
          await readAs(
            'mallory',
            `alter role "${first}" rename to "${third}"; alter role "${second}" rename to "${first}"`,
          )
        })
        assert.ok(isSwapped && steps.length > 0)
        assert.deepEqual(await listMakers(), [])
        await run(`drop owned by "${first}", "${third}" cascade; drop role "${first}", "${third}"`)
      },
    )

    clause(
      'ENF-263',
      'No role but owners of twins may create in their schemas after a turn, whatever roles are renamed during it. A turn takes the right from every other role, and the note `CreateRevoked` says so.',
      async () => {
        await mask()
        await run(
          `grant create on schema masked_app to "${analyst}" with grant option; grant create on schema masked_app to public`,
        )
        await readAs('analyst', `grant create on schema masked_app to "${mallory}"`)
        assert.equal((await listMakers()).length, 3)
        const { notes } = await mask()
        assert.deepEqual(
          [...new Set(notes.map(({ code, target: on }) => `${code} ${on}`))],
          ['CreateRevoked masked_app'],
        )
        assert.deepEqual(await listMakers(), [])
        const { notes: later, steps } = await mask()
        assert.deepEqual([later, steps], [[], []])
        assert.equal((await readAs('analyst', 'select mail from masked_app.people'))[0]?.mail, 'XXXX')
      },
    )
  })
})
