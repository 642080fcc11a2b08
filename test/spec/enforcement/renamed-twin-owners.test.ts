import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe } from 'node:test'
import pg from 'pg'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { createKeptRecords } from '../../../src/enforcement/guard/kept-records.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { PartlyEnforced } from '../../../src/enforcement/reconcile-by-relation.ts'
import { findMissing } from '../../../src/enforcement/states/find-cause.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { createTestDatabase, forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const refused = /permission denied for (table|view)/

/** `app.people` is of the role owner, `app.staff` of the superuser. The masked role mallory has CREATEROLE. */
async function createScene(cluster: Parameters<Parameters<typeof forEachCluster>[0]>[0]) {
  const target = await createMaskedDatabase(cluster)
  const analyst = await target.createRole('analyst')
  const mallory = await target.createRole('mallory', 'LOGIN CREATEROLE')
  const owner = await target.createRole('owner', 'NOLOGIN')
  const database = target.url.replace(/^.*\//, '')
  const run = (text: string) => target.database.sql.unsafe(text)
  const ask = async (expression: string) => (await run(`select (${expression}) as answer`))[0]?.answer
  await run(`create schema app; grant usage on schema app to public; create schema lair authorization "${mallory}";
    grant usage on schema lair to public;
    create table app.people (id int, mail text); insert into app.people values (1, 'zqcanary');
    create table app.staff (id int, mail text); insert into app.staff values (1, 'zqcanary');
    alter table app.people owner to "${owner}"; grant select on app.people, app.staff to "${analyst}", "${mallory}"`)
  const servedOid = await ask(`select oid::text from pg_roles where rolname = '${owner}'`)
  return {
    target,
    analyst,
    mallory,
    owner,
    database,
    run,
    ask,
    version: Number(await ask(`current_setting('server_version_num')::int`)),
    names: { people: `masquerade_twins_${servedOid}_${database}`, staff: `masquerade_twins_${database}` },
    readAs: (name: string, text: string) => target.runAs(name, text),
    ownerOf: (twin: string): Promise<string> =>
      ask(
        `select r.rolname from pg_class c join pg_roles r on r.oid = c.relowner where c.oid = '${twin}'::regclass`,
      ),
  }
}

/** Any role can write this signature; a key of the service is behind the real one. */
const claimant = {
  databaseId: randomUUID(),
  nameOwner: () => Promise.resolve(null),
  hasRival: () => Promise.resolve(false),
  sign: (text: string) => Buffer.from(text).toString('base64url'),
}

forEachCluster((cluster) => {
  describe('roles that were renamed to owners of twins', () => {
    let scene: Awaited<ReturnType<typeof createScene>>
    const opened: Database[] = []
    const rules = [rule('app.people.mail'), rule('app.staff.mail')]
    const tables = ['people', 'staff'] as const
    const mask = (on = scene.target.database) => reconcile(on, policy(rules), { claimant })
    const open = (url: string) => {
      const session = openDatabase({ url, poolSize: 1, searchPath: 'public' })
      opened.push(session)
      return session
    }
    const twinsAreMasked = async () => {
      for (const table of tables) {
        const [row] = await scene.readAs('analyst', `select mail from masked_app.${table}`)
        assert.equal(row?.mail, 'XXXX')
      }
    }
    const ownersOfTwins = () => Promise.all(tables.map((table) => scene.ownerOf(`masked_app.${table}`)))

    before(async () => {
      scene = await createScene(cluster)
    })
    afterEach(async () => {
      for (const session of opened.splice(0)) await session.close()
      await reconcile(scene.target.database, policy([]), { claimant })
    })
    after(() => scene.target[Symbol.asyncDispose]())

    clause(
      'ENF-372',
      'A role that got the name of an owner of twins by ALTER ROLE … RENAME is never used as one, whichever memberships superusers and the role of the binding have in it. …',
      async () => {
        const { mallory, target, run, readAs, ask, names, ownerOf } = scene
        const dba = await target.createRole('dba', 'SUPERUSER LOGIN')
        for (const table of tables) {
          const [team, name] = [target.role('team'), names[table]]
          await readAs('mallory', `create role "${team}"; grant "${team}" to "${mallory}"`)
          await run(`grant "${team}" to "${dba}"; grant "${team}" to current_user`)
          const acting = open(target.urlOf('mallory'))
          await acting.sql.unsafe(
            `grant create, usage on schema lair to "${team}"; alter role "${team}" rename to "${name}"; set role "${name}";
            create function lair.spy() returns setof text language plpgsql security definer as $$
              begin return query execute 'select mail from app.${table}'; end $$`,
          )
          // A grant in another database keeps the role from being dropped.
          const elsewhere = open(target.urlOf('mallory').replace(/[^/]*$/, 'postgres'))
          await elsewhere.sql.unsafe(`create temp table t (); grant select on t to "${name}"`)
          for (const _turn of [1, 2]) {
            const { notes } = await mask()
            assert.deepEqual(
              notes.map(({ code, target: on }) => [code, on]),
              [['NameTaken', name]],
            )
            await assert.rejects(acting.sql.unsafe(`select mail from app.${table}`), refused)
            await assert.rejects(readAs('mallory', 'select * from lair.spy()'), refused)
            assert.equal(await ask(`has_table_privilege('${name}', 'app.${table}', 'select')`), false)
            assert.notEqual(await ownerOf(`masked_app.${table}`), name)
            await twinsAreMasked()
          }
          await reconcile(target.database, policy([]), { claimant })
          await elsewhere.close()
          await acting.close()
          await run(`drop owned by "${name}"`)
          // Sessions end after their clients have gone.
          const drop = () =>
            run(`drop role "${name}"`).then(
              () => true,
              () => false,
            )
          await waitUntil('its grants elsewhere are gone', drop)
        }
      },
    )

    clause(
      'ENF-372',
      'A role that got the name of an owner of twins by ALTER ROLE … RENAME is never used as one, whichever memberships superusers and the role of the binding have in it. …',
      async () => {
        const { target, run, readAs, ask, names, owner, database, version } = scene
        // Before PostgreSQL 16, a role with CREATEROLE joins any other.
        if (version < 160000) return
        const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
        const [team, helper, name] = [target.role('team'), target.role('helper'), names.people]
        await run(`grant "${owner}" to "${binder}"; grant create on database "${database}" to "${binder}"`)
        // The role that created it is gone, and with it every other member; a session goes on.
        await readAs('mallory', `create role "${helper}" login createrole password 'secret'`)
        await readAs('helper', `create role "${team}" login password 'secret'`)
        await run(`grant "${team}" to "${binder}"`)
        const acting = new pg.Client(target.urlOf('team'))
        await acting.connect()
        await readAs('helper', `alter role "${team}" nologin; alter role "${team}" rename to "${name}"`)
        await readAs('mallory', `drop role "${helper}"`)
        const session = target.connectAs('binder')
        const settle = (...wanted: string[]) =>
          reconcile(session, policy(wanted.map((one) => rule(`app.${one}.mail`))), { claimant })
        for (const _turn of [1, 2]) {
          await settle('people')
          await assert.rejects(acting.query('select mail from app.people'), refused)
          assert.equal(await ask(`has_table_privilege('${name}', 'app.people', 'select')`), false)
          const [row] = await readAs('analyst', 'select mail from masked_app.people')
          assert.equal(row?.mail, 'XXXX')
        }
        await settle()
        await acting.end()
        await run(`drop role "${name}"`)
      },
    )

    clause(
      'ENF-372',
      'A role that got the name of an owner of twins by ALTER ROLE … RENAME is never used as one, whichever memberships superusers and the role of the binding have in it. The service knows its own by a comment that it writes when it creates them, signed for the OID of the role: on another role the comment is worth nothing.',
      async () => {
        const { mallory, target, run, readAs, ask, names } = scene
        await mask()
        const [comment] = await run(
          `select shobj_description(oid, 'pg_authid') as text from pg_roles where rolname = '${names.people}'`,
        )
        assert.match(comment?.text, /^masquerade twins /)
        await reconcile(target.database, policy([]), { claimant })
        await readAs(
          'mallory',
          `create role "${names.people}"; grant "${names.people}" to "${mallory}"; comment on role "${names.people}" is '${comment?.text}'`,
        )
        await run(`grant "${names.people}" to current_user`)
        await mask()
        assert.equal(await ask(`has_table_privilege('${names.people}', 'app.people', 'select')`), false)
        await twinsAreMasked()
        await reconcile(target.database, policy([]), { claimant })
        await run(`drop role "${names.people}"`)
      },
    )

    clause(
      'ENF-373',
      'Owners of twins that an earlier release created stay in use where they own recorded twins or the schemas of these, own neither functions nor relations elsewhere, and have no other role as a member. The next turn marks them where it may (ENF-376). Others are replaced.',
      async () => {
        const { analyst, run, ownerOf, ask } = scene
        await mask()
        const owners = await ownersOfTwins()
        // As the earlier release left them.
        const unmark = () => run(owners.map((name) => `comment on role "${name}" is null`).join(';'))
        await unmark()
        const { steps, notes } = await mask()
        assert.deepEqual(notes, [])
        assert.deepEqual(
          steps.map(({ sql }) => sql.replace(/ IS .*/s, '')).sort(),
          owners.map((name) => `COMMENT ON ROLE "${name}"`).sort(),
        )
        assert.deepEqual((await mask()).steps, [])
        assert.deepEqual(await ownersOfTwins(), owners)
        await twinsAreMasked()
        const [own = ''] = owners
        await unmark()
        await run(`grant "${own}" to "${analyst}"`)
        await mask()
        assert.notEqual(await ownerOf('masked_app.people'), own)
        assert.deepEqual((await mask()).steps, [])
        assert.equal(
          await ask(
            `exists (select from pg_roles r where r.rolname = '${own}' and has_table_privilege(r.oid, 'app.people', 'select'))`,
          ),
          false,
        )
        await twinsAreMasked()
      },
    )

    clause(
      'ENF-375',
      'Marks of owners of twins that an older secret key signed stay valid while the service has that key, and are written anew.',
      async () => {
        const { target } = scene
        const older = { ...claimant, sign: (text: string) => `older${text.length}` }
        await reconcile(target.database, policy(rules), { claimant: older })
        const owners = await ownersOfTwins()
        // The secret key was replaced since.
        const signOtherwise = (text: string) => ({ older: [older.sign(text)], newer: [] })
        const settle = () =>
          reconcile(target.database, policy(rules), { claimant: { ...claimant, signOtherwise } })
        const { steps } = await settle()
        assert.equal(steps.filter(({ sql }) => sql.startsWith('COMMENT ON ROLE')).length, 2)
        assert.deepEqual((await settle()).steps, [])
        assert.deepEqual(await ownersOfTwins(), owners)
      },
    )
  })

  describe('marks of owners of twins that cannot be written', () => {
    let scene: Awaited<ReturnType<typeof createScene>>
    before(async () => {
      scene = await createScene(cluster)
    })
    after(() => scene.target[Symbol.asyncDispose]())

    clause(
      'ENF-376',
      'An owner of twins whose comment the role of the binding may not write stays in use as it is, with or without a mark: since PostgreSQL 16 a comment takes CREATEROLE and ADMIN on the role. …',
      async () => {
        const { target, run, readAs, ask, owner, database, version } = scene
        const makers = [
          await target.createRole('former', 'LOGIN CREATEROLE'),
          await target.createRole('heir', 'LOGIN CREATEROLE'),
        ]
        const [former, heir] = makers
        for (const maker of makers)
          await run(`grant "${owner}" to "${maker}"; grant create on database "${database}" to "${maker}"`)
        await run(`create table app.more (id int, mail text); insert into app.more values (1, 'zqcanary');
          alter table app.more owner to "${owner}"; grant select on app.more to public`)
        const settle = (as: string, wanted: string[], keys: Partial<typeof claimant> & object = {}) =>
          reconcile(target.connectAs(as), policy(wanted.map((one) => rule(`app.${one}.mail`))), {
            claimant: { ...claimant, ...keys },
          })
        await settle('former', ['people'])
        const twins = await run(
          `select rolname::text as name from pg_roles where rolname ~ '^masquerade_twins_(.*_)?${database}$'`,
        )
        const owned = await scene.ownerOf('masked_app.people')
        for (const { name } of twins)
          await run(`comment on role "${name}" is null; grant "${name}" to "${heir}"`)
        await run(
          `reassign owned by "${former}" to "${heir}"; drop owned by "${former}"; drop role "${former}"`,
        )
        const listMarks = (steps: readonly { sql: string }[]) =>
          steps.filter(({ sql }) => sql.startsWith('COMMENT ON ROLE')).length
        const isBarred = version >= 160000
        const turns = [['people'], ['people', 'more'], ['people', 'more']]
        for (const [at, wanted] of turns.entries()) {
          const { steps } = await settle('heir', wanted)
          assert.equal(listMarks(steps), !isBarred && at === 0 ? twins.length : 0)
          assert.equal(await scene.ownerOf('masked_app.people'), owned)
          for (const table of wanted) {
            await assert.rejects(readAs('analyst', `select mail from app.${table}`), refused)
            const [row] = await readAs('analyst', `select mail from masked_app.${table}`)
            assert.equal(row?.mail, 'XXXX')
          }
        }
        // With ADMIN it is marked, and the mark stays after that.
        for (const { name } of twins) await run(`grant "${name}" to "${heir}" with admin option`)
        assert.equal(listMarks((await settle('heir', ['people', 'more'])).steps), isBarred ? twins.length : 0)
        for (const { name } of twins) await run(`revoke admin option for "${name}" from "${heir}"`)
        // The secret key was replaced since: a mark that cannot be written anew is worth what it was.
        const keys = {
          sign: (text: string) => `newer${text.length}`,
          signOtherwise: (text: string) => ({ older: [claimant.sign(text)], newer: [] }),
        }
        assert.equal(
          listMarks((await settle('heir', ['people', 'more'], keys)).steps),
          isBarred ? 0 : twins.length,
        )
        assert.equal(await scene.ownerOf('masked_app.people'), owned)
        await run(`revoke select on app.more from public; grant select on app.more to public`)
        await settle('heir', ['people', 'more'], keys)
        await assert.rejects(readAs('analyst', 'select mail from app.more'), refused)
        await settle('heir', [], keys)
        assert.equal(await ask(`has_table_privilege('${scene.analyst}', 'app.people', 'select')`), true)
        await run(`drop table app.more`)
        for (const { name } of twins)
          if (await ask(`exists (select from pg_roles where rolname = '${name}')`))
            await run(`drop owned by "${name}"; drop role "${name}"`)
      },
    )

    clause(
      'ENF-377',
      'No relation waits for the mark of an owner of twins that is there: where the mark cannot be written, masked columns are closed, the state says so, and a later turn writes it.',
      async () => {
        const { run, readAs } = scene
        const one = [rule('app.staff.mail')]
        const { database } = scene.target
        await reconcile(database, policy(one), { claimant })
        const name = await scene.ownerOf('masked_app.staff')
        await run(`comment on role "${name}" is null`)
        const holder = new pg.Client(scene.target.url)
        await holder.connect()
        try {
          // As a role with CREATEROLE can before PostgreSQL 16.
          await holder.query(`begin; comment on role "${name}" is null`)
          await run(
            `create table app.late (id int, mail text); grant select on app.late to "${scene.analyst}"`,
          )
          const later = policy([...one, rule('app.late.mail')])
          await assert.rejects(
            reconcile(database, later, { claimant }),
            (error: unknown) =>
              error instanceof PartlyEnforced &&
              error.unfinished.length === 1 &&
              error.unfinished[0]?.target === 'marks of owners of twins' &&
              error.unfinished[0]?.isClosed === true,
          )
          await assert.rejects(readAs('analyst', 'select mail from app.late'), refused)
          assert.deepEqual(await readAs('analyst', 'select mail from masked_app.late'), [])
          await holder.query('rollback')
          const { steps } = await reconcile(database, later, { claimant })
          assert.deepEqual(
            steps.map(({ sql }) => sql.replace(/ IS .*/s, '')),
            [`COMMENT ON ROLE "${name}"`],
          )
        } finally {
          await holder.end()
          await reconcile(database, policy([]), { claimant })
          await run('drop table if exists app.late')
        }
      },
    )

    clause(
      'ENF-389',
      'No relation waits for an owner of twins whose attributes or members cannot be changed, as another session holds a lock on them: …',
      async () => {
        const { run, readAs, analyst, ask } = scene
        const { database } = scene.target
        const settle = (...tables: string[]) =>
          reconcile(database, policy(tables.map((table) => rule(`app.${table}.mail`))), { claimant })
        await run(`create table app.late (id int, mail text); insert into app.late values (1, 'zqcanary');
          grant select on app.late to "${analyst}"`)
        await settle('staff', 'people')
        const name = await scene.ownerOf('masked_app.staff')
        const holder = new pg.Client(scene.target.url)
        await holder.connect()
        try {
          // As a role with CREATEROLE can before PostgreSQL 16.
          await run(`alter role "${name}" createdb; grant "${name}" to "${analyst}"`)
          await holder.query(`begin; alter role "${name}" createdb`)
          await assert.rejects(
            settle('staff', 'people', 'late'),
            (error: unknown) =>
              error instanceof PartlyEnforced && error.unfinished.some(({ target }) => target.includes(name)),
          )
          await assert.rejects(readAs('analyst', 'select mail from app.late'), refused)
          // The role that joined reads nothing by it meanwhile.
          for (const table of ['late', 'staff'])
            await assert.rejects(
              readAs('analyst', `set role "${name}"; select mail from app.${table}`),
              refused,
            )
          assert.equal((await readAs('analyst', 'select mail from masked_app.people'))[0]?.mail, 'XXXX')
          await holder.query('rollback')
          await settle('staff', 'people', 'late')
          assert.equal(await ask(`pg_has_role('${analyst}', '${name}', 'member')`), false)
          for (const table of ['late', 'staff', 'people'])
            assert.equal((await readAs('analyst', `select mail from masked_app.${table}`))[0]?.mail, 'XXXX')
          assert.deepEqual((await settle('staff', 'people', 'late')).steps, [])
          await settle()
          assert.equal((await readAs('analyst', 'select mail from app.staff'))[0]?.mail, 'zqcanary')
        } finally {
          await holder.end()
          await settle()
          await run('drop table if exists app.late')
        }
      },
    )
  })

  describe('roles for twins that a masked role offers to a binding without CREATEROLE', () => {
    let scene: Awaited<ReturnType<typeof createScene>>
    before(async () => {
      scene = await createScene(cluster)
    })
    after(() => scene.target[Symbol.asyncDispose]())

    clause(
      'ENF-374',
      'Where the role of the binding cannot create roles, it uses no role for twins that owns functions or other relations, or that another role may act as, or give itself, unless it can revoke that. Masked columns stay closed, and the reason has the statements for a role of another name. A role that owns recorded twins already goes on, with a note.',
      async () => {
        const { target, run, readAs, ask, names, owner, database, version, mallory } = scene
        await using store = await createTestDatabase()
        for (const table of ['closed_relation', 'copied_record'])
          await store.database.sql.unsafe(`alter table ${table} drop constraint ${table}_database_id_fkey`)
        const kept = createKeptRecords(store.database.sql, randomUUID())
        const binder = await target.createRole('binder')
        await run(`grant "${owner}" to "${binder}"; grant create on database "${database}" to "${binder}"`)
        const session = target.connectAs('binder')
        const rules = [rule('app.people.mail')]
        const settle = () => reconcile(session, policy(rules), { claimant, kept })
        const explain = () =>
          findMissing(async () => ({
            databaseId: claimant.databaseId,
            database: session,
            policy: policy(rules),
            login: { user: binder, database },
          }))
        const taken = names.staff
        const spy = `create function lair.spy() returns setof text language plpgsql security definer as $$
          begin return query execute 'select mail from app.people'; end $$; alter function lair.spy() owner to`
        await run(`create role "${taken}"; grant "${taken}" to "${binder}"; ${spy} "${taken}"`)
        await assert.rejects(settle(), /permission denied to create role/)
        await assert.rejects(readAs('mallory', 'select * from lair.spy()'), refused)
        assert.match((await explain()) ?? '', new RegExp(`"${taken}" owns functions or relations`))
        await run(`drop owned by "${taken}"; drop role "${taken}"`)
        // Before PostgreSQL 16, a role with CREATEROLE joins any other.
        if (version < 160000) return
        await readAs('mallory', `create role "${taken}"; grant "${taken}" to "${binder}"`)
        for (const _turn of [1, 2]) {
          await assert.rejects(settle(), /permission denied to create role/)
          assert.equal(await ask(`has_table_privilege('${taken}', 'app.people', 'select')`), false)
          const join = `begin; grant "${taken}" to "${mallory}"; set role "${taken}"; select mail from app.people`
          await assert.rejects(readAs('mallory', join), refused)
          await assert.rejects(readAs('analyst', 'select mail from app.people'), refused)
        }
        const reason = (await explain()) ?? ''
        assert.ok(reason.includes(`"${mallory}" can give itself "${taken}"`), reason)
        const statements = /Run: (.*)$/.exec(reason)?.[1] ?? ''
        await run(statements)
        const { notes } = await settle()
        assert.deepEqual(
          notes.map(({ code, target: on }) => [code, on]),
          [['NameTaken', taken]],
        )
        const prepared = await scene.ownerOf('masked_app.people')
        assert.notEqual(prepared, taken)
        assert.equal((await readAs('analyst', 'select mail from masked_app.people'))[0]?.mail, 'XXXX')
        // As a role that an administrator without superuser prepared for an earlier release.
        await run(`grant "${prepared}" to "${mallory}" with admin true, set false, inherit false`)
        for (const _turn of [1, 2]) {
          const { notes: later } = await settle()
          assert.ok(later.some(({ code, target: on }) => code === 'NotClosed' && on === mallory))
          assert.equal((await readAs('analyst', 'select mail from masked_app.people'))[0]?.mail, 'XXXX')
        }
        assert.equal(await explain(), null)
        await reconcile(session, policy([]), { claimant, kept })
        await run(`drop owned by "${prepared}", "${taken}"; drop role "${prepared}", "${taken}"`)
      },
    )
  })
})
