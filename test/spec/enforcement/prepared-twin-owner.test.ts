import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/** `app.a` is of the role first, `app.b` of second, `app.own` and `app.own_2` of the role of the binding. */
forEachCluster((cluster) => {
  describe('the prepared owner of twins, with a binding that cannot create roles', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [analyst, first, second, binder, maker, twins, database]: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const readAs = (name: string, text: string) => target.runAs(name, text)
    const readMail = async (relation: string) =>
      (await readAs('analyst', `select mail from ${relation}`))[0]?.mail
    const ask = async (expression: string) => (await run(`select (${expression}) as answer`))[0]?.answer
    const ownerOf = (twin: string) =>
      ask(
        `select r.rolname from pg_class c join pg_roles r on r.oid = c.relowner where c.oid = '${twin}'::regclass`,
      )
    const nameFor = async (owner?: string) =>
      `masquerade_twins_${await ask(`select oid::text from pg_roles where rolname = '${owner}'`)}_${database}`
    const mask = (...names: string[]) =>
      reconcile(target.connectAs('binder'), policy(names.map((name) => rule(`app.${name}.mail`))))
    const focus = (table: string, ...names: string[]) =>
      reconcile(target.connectAs('binder'), policy(names.map((name) => rule(`app.${name}.mail`))), {
        focus: () => [{ schema: 'app', table }],
      })
    /** As after an upgrade from a release with one owner for all twins. */
    const mergeInto = async (table: string, owner?: string) => {
      const own = await nameFor(owner)
      await run(`alter view masked_app.${table} owner to "${twins}"; grant select on app.${table} to "${twins}";
        revoke all on app.${table} from "${own}"`)
    }
    const prepare = async (owner?: string) => {
      const name = await nameFor(owner)
      await run(`create role "${name}"; grant "${name}" to "${binder}"`)
      return name
    }
    const drop = (name: string) => run(`drop owned by "${name}"; drop role "${name}"`)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      first = await target.createRole('first', 'NOLOGIN')
      second = await target.createRole('second', 'NOLOGIN')
      binder = await target.createRole('binder')
      maker = await target.createRole('maker', 'LOGIN CREATEROLE')
      database = target.url.replace(/^.*\//, '')
      twins = `masquerade_twins_${database}`
      await run(`create schema app; grant usage on schema app to public;
        grant create, temporary on database "${database}" to "${binder}", "${analyst}";
        grant "${first}", "${second}" to "${binder}"; create role "${twins}"; grant "${twins}" to "${binder}"`)
      for (const [table, owner] of [
        ['a', first],
        ['b', second],
        ['own', binder],
        ['own_2', binder],
      ])
        await run(`create table app.${table} (id int, mail text); insert into app.${table} values (1, 'zqcanary');
          alter table app.${table} owner to "${owner}"; grant select on app.${table} to "${analyst}"`)
    })
    afterEach(() => mask())
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-256',
      'A role of which another role is a member, or may make itself one, serves no owner of tables where the role of the binding cannot revoke that: …',
      async () => {
        // Before PostgreSQL 16, CREATEROLE makes any role a member of any other.
        if ((await ask(`current_setting('server_version_num')::int`)) < 160000) return
        const name = await nameFor(first)
        await readAs('maker', `create role "${name}"; grant "${name}" to "${binder}"`)
        assert.deepEqual((await mask('a')).notes, [])
        assert.deepEqual((await mask('a')).steps, [])
        assert.equal(await ownerOf('masked_app.a'), twins)
        const spy = `begin; grant "${name}" to "${maker}"; set role "${name}"; select mail from app.a`
        await assert.rejects(readAs('maker', spy), /permission denied for table a/)
        assert.equal(await readMail('masked_app.a'), 'XXXX')
        // Another owner's tables stay closed, and the note has a name that is free.
        const taken = await nameFor(second)
        await readAs('maker', `create role "${taken}"; grant "${taken}" to "${binder}"`)
        const { notes } = await mask('a', 'b')
        assert.deepEqual(
          notes.map(({ code, target: on }) => [code, on]),
          [['NoTwin', 'app.b']],
        )
        await assert.rejects(readMail('app.b'), /permission denied/)
        const statements = notes[0]?.message.replace(/^.* Run: /, '').replace(/\.$/, '') ?? ''
        await run(statements)
        assert.deepEqual(
          (await mask('a', 'b')).notes.map(({ code }) => code),
          ['NameTaken'],
        )
        assert.equal(await readMail('masked_app.b'), 'XXXX')
        const prepared = await ownerOf('masked_app.b')
        assert.notEqual(prepared, taken)
        await mask()
        for (const role of [name, taken, prepared]) await drop(role)
      },
    )

    clause(
      'ENF-339',
      'Of several owners of tables whose twins it has, the prepared role goes on to serve one that the role of the binding can act for…',
      async () => {
        await run(`alter table app.b owner to "${first}"`)
        await mask('a', 'b')
        assert.equal(await ownerOf('masked_app.b'), twins)
        // The role analyst has the lower OID, and the binding cannot act for it.
        await run(`alter table app.a owner to "${analyst}"`)
        for (const _turn of [1, 2]) {
          await mask('a', 'b')
          assert.equal(await readMail('masked_app.b'), 'XXXX')
          await assert.rejects(readMail('masked_app.a'), /permission denied/)
        }
        await run(`alter table app.a owner to "${first}"; grant select on app.a to "${analyst}"`)
        await mask('a', 'b')
        await mask()
        await run(`alter table app.b owner to "${second}"`)
      },
    )

    clause(
      'ENF-257',
      'Grants that other roles give the prepared role do not change which owner it serves.',
      async () => {
        await mask('a')
        const session = target.connectAs('analyst')
        await session.sql.unsafe(
          `create temp table t (id int); grant select on t to "${twins}"; create schema lair;
          create table lair.t (id int); grant select on lair.t to "${twins}"`,
        )
        await run(`grant select on app.b to "${twins}"`)
        for (const turn of [() => mask('a'), () => focus('b', 'a', 'b'), () => mask('a', 'b')]) {
          await turn()
          assert.equal(await readMail('masked_app.a'), 'XXXX')
        }
        await assert.rejects(readMail('masked_app.b'), /does not exist/)
        assert.equal(await ask(`has_table_privilege('${twins}', 'app.b', 'select')`), false)
        await session.sql.unsafe('drop schema lair cascade; drop table t')
      },
    )

    clause(
      'ENF-258',
      'A role that is named like an owner of twins, and is to own none, is listed among the readers of a copy that cannot be closed.',
      async () => {
        const name = await nameFor(second)
        await run(`create role "${name}"; grant "${name}" to "${analyst}"; create materialized view app.copy as select mail from app.a;
          grant select on app.copy to "${name}"`)
        const { notes } = await mask('a')
        assert.match(notes.map(({ message }) => message).join(), new RegExp(`app.copy.*${name}`))
        await run('drop materialized view app.copy')
        await drop(name)
      },
    )

    clause('ENF-259', 'An owner of twins may not read a table whose twin is suspended.', async () => {
      const mayRead = () => ask(`has_table_privilege('${twins}', 'app.a', 'select')`)
      await mask('a')
      assert.equal(await mayRead(), true)
      const suspended = [{ schema: 'app', table: 'a' }]
      await reconcile(target.connectAs('binder'), { ...policy([rule('app.a.mail')]), suspended })
      assert.equal(await mayRead(), false)
      await assert.rejects(readMail('app.a'), /permission denied/)
      await mask('a')
      assert.equal(await readMail('masked_app.a'), 'XXXX')
    })

    clause(
      'ENF-232',
      'Where the role of the binding cannot create roles, the role that was prepared for the twins serves one owner of tables. …',
      async () => {
        const own = await prepare(second)
        await mask('a', 'b')
        await mergeInto('b', second)
        await drop(own)
        // Equal numbers of tables: the lowest OID.
        const { notes } = await mask('a', 'b')
        assert.deepEqual(
          notes.map(({ code, target: on }) => [code, on]),
          [['NoTwin', 'app.b']],
        )
        assert.deepEqual((await mask('a', 'b')).steps, [])
        assert.equal(await readMail('masked_app.a'), 'XXXX')
        assert.equal(await ask(`has_table_privilege('${twins}', 'app.b', 'select')`), false)
      },
    )

    clause(
      'ENF-232',
      'Where the role of the binding cannot create roles, the role that was prepared for the twins serves one owner of tables. …',
      async () => {
        const own = await prepare(first)
        await mask('own', 'own_2')
        await mask('a', 'own', 'own_2')
        await mergeInto('a', first)
        await drop(own)
        // The most tables, although the OID of the other is lower. Policies of that would read the tables of the binding.
        const { notes } = await mask('a', 'own', 'own_2')
        assert.deepEqual(
          notes.map(({ code, target: on }) => [code, on]),
          [['NoTwin', 'app.a']],
        )
        for (const name of ['own', 'own_2']) assert.equal(await readMail(`masked_app.${name}`), 'XXXX')
        assert.equal(await ask(`has_table_privilege('${twins}', 'app.a', 'select')`), false)
        await assert.rejects(readMail('app.a'), /permission denied/)
      },
    )
  })
})
