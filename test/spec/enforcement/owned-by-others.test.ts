import assert from 'node:assert/strict'
import { openDatabase } from '../../../src/db/database.ts'
import { markPrefix } from '../../../src/enforcement/logins/mark.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { findLeftovers } from '../../../src/enforcement/restore/leftovers.ts'
import { restoreDatabase } from '../../../src/enforcement/restore/restore-database.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/** `team` owns `lair.treasure` and a function; a superuser is a member of it. The masked role mallory, with CREATEROLE, created it. */
async function createScene(cluster: Parameters<typeof createMaskedDatabase>[0]) {
  const target = await createMaskedDatabase(cluster)
  const analyst = await target.createRole('analyst')
  const mallory = await target.createRole('mallory', 'LOGIN CREATEROLE')
  const run = (text: string) => target.database.sql.unsafe(text)
  const ask = async (expression: string) => (await run(`select (${expression}) as answer`))[0]?.answer
  const team = target.role('team')
  await run(`create schema app; grant usage on schema app to public; create schema lair; grant usage, create on schema lair to public;
    create table app.people (id int, mail text); insert into app.people values (1, 'zqcanary'); grant select on app.people to "${analyst}"`)
  await target.runAs('mallory', `create role "${team}"; grant "${team}" to "${mallory}"`)
  await run(`grant "${team}" to current_user; grant select on app.people to "${team}"; set role "${team}"; create table lair.treasure (id int);
    create function lair.own() returns int language sql as 'select 1'; reset role`)
  return {
    target,
    database: target.url.replace(/^.*\//, ''),
    run,
    ask,
    rename: (name: string) => target.runAs('mallory', `alter role "${team}" rename to "${name}"`),
    isWhole: async () =>
      (await ask(`to_regclass('lair.treasure') is not null and to_regproc('lair.own') is not null`)) === true,
    readMail: async () => (await target.runAs('analyst', 'select mail from masked_app.people'))[0]?.mail,
  }
}

const rules = policy([rule('app.people.mail')])

forEachCluster((cluster) => {
  const title =
    'DROP OWNED is run on no role but owners of twins that are known as ours, or that own nothing else in the database: …'

  clause(
    'ENF-390',
    'Statements for operators have DROP OWNED of no role that owns more than twins: any role with CREATEROLE can give a role of its own …',
    async () => {
      const scene = await createScene(cluster)
      await using target = scene.target
      const id = '11111111-1111-1111-1111-111111111111'
      const team = target.role('team')
      await target.runAs('mallory', `comment on role "${team}" is '${markPrefix(id, id)}x'`)
      const left = await findLeftovers(target.database.sql, id)
      const [login] = left.filter(({ kind }) => kind === 'login role')
      assert.deepEqual([login?.name, login?.statement], [team, `DROP ROLE "${team}"`])

      await reconcile(target.database, rules)
      const other = `masquerade_twins_${target.role('other')}`
      await scene.rename(other)
      // As after a restore from a dump.
      await scene.run('update masquerade_guard.policy set self = 1')
      await assert.rejects(reconcile(target.database, rules), ({ message }: Error) => {
        assert.match(message, new RegExp(`DROP OWNED BY "masquerade_twins_${scene.database}"`))
        return !message.includes(other)
      })
      await scene.run(`drop owned by "${other}"; drop role "${other}"`)
    },
  )

  clause(
    'ENF-431',
    'Statements for operators have DROP SCHEMA … CASCADE of no schema of twins with which objects of others would go…',
    async () => {
      const scene = await createScene(cluster)
      await using target = scene.target
      const { run } = scene
      await reconcile(target.database, rules)
      const readStatements = async () => {
        const left = await findLeftovers(target.database.sql, '')
        const [schema] = left.filter(({ name }) => name === 'masked_app')
        const error = await reconcile(target.database, rules).then(
          () => '',
          ({ message }: Error) => message,
        )
        return { leftover: schema?.statement, error, statements: error.replace(/^.*made anew: /, '') }
      }
      // As after a restore from a dump.
      await run('update masquerade_guard.policy set self = 1')
      for (const [make, name, drop] of [
        ['create view lair.report as select mail from masked_app.people', 'lair.report', 'view lair.report'],
        ['create table lair.kept (people masked_app.people[])', 'lair.kept.people', 'table lair.kept'],
        ['create table masked_app.notes (note text)', 'masked_app.notes', 'table masked_app.notes'],
      ]) {
        await run(`${make}`)
        const { leftover, error, statements } = await readStatements()
        assert.equal(leftover, 'DROP SCHEMA "masked_app"')
        assert.match(error, new RegExp(`these objects of others would go: ${name}\\. `))
        assert.match(statements, /^DROP SCHEMA "masked_app"; DROP SCHEMA "masquerade_guard" CASCADE; /)
        await assert.rejects(run(statements), { code: '2BP01' })
        await run(`drop ${drop}`)
      }
      const { leftover, statements } = await readStatements()
      assert.equal(leftover, 'DROP SCHEMA "masked_app" CASCADE')
      await run(statements)
      await reconcile(target.database, rules)
      await assert.rejects(target.runAs('analyst', 'select mail from app.people'), { code: '42501' })
    },
  )

  clause('ENF-388', title, async () => {
    const scene = await createScene(cluster)
    await using target = scene.target
    await scene.rename(`masquerade_twins_${scene.database}`)
    const controller = {
      connect: async () => target.database,
      settle: async () => ({ state: 'NotMasked', reason: null }) as never,
    }
    const { left } = await restoreDatabase(controller, '00000000-0000-0000-0000-000000000000')
    assert.ok(await scene.isWhole())
    assert.doesNotMatch(JSON.stringify(left), /DROP OWNED/)
    await scene.run(`drop owned by "masquerade_twins_${scene.database}"`)
  })

  clause('ENF-388', title, async () => {
    const scene = await createScene(cluster)
    await using target = scene.target
    const { database, ask } = scene
    await reconcile(target.database, rules)
    await scene.rename(`masquerade_twins_${target.role('other')}`)
    // As after a new name of the database.
    const old = `masquerade_twins_old_${database}`
    await scene.run(`alter role "masquerade_twins_${database}" rename to "${old}"`)
    await reconcile(target.database, rules)
    assert.ok(await scene.isWhole())
    assert.equal(await scene.readMail(), 'XXXX')
    assert.equal(await ask(`select count(*)::int from pg_roles where rolname = '${old}'`), 0)
    const other = `masquerade_twins_${target.role('other')}`
    assert.equal(await ask(`has_table_privilege('${other}', 'app.people', 'select')`), false)
    await reconcile(target.database, policy([]))
    await scene.run(`drop owned by "${other}"; drop role "${other}"`)
  })

  clause('ENF-388', title, async () => {
    const scene = await createScene(cluster)
    await using target = scene.target
    const { database, run, ask } = scene
    const twins = `masquerade_twins_${database}`
    const binder = await target.createRole('binder')
    await run(`grant create on database "${database}" to "${binder}"; alter table app.people owner to "${binder}";
      create role "${twins}"; grant "${twins}" to "${binder}"`)
    const session = openDatabase({ url: target.urlOf('binder'), poolSize: 1, searchPath: 'public' })
    try {
      await reconcile(session, rules)
      assert.equal(await scene.readMail(), 'XXXX')
      await run(
        `alter table lair.treasure owner to "${twins}"; alter function lair.own() owner to "${twins}"`,
      )
      await reconcile(session, policy([]))
    } finally {
      await session.close()
    }
    assert.ok(await scene.isWhole())
    assert.equal(await ask(`to_regnamespace('masked_app')::text`), null)
    assert.equal(await ask(`has_table_privilege('${twins}', 'app.people', 'select')`), false)
    await run(`drop owned by "${twins}"; drop role "${twins}"`)
  })
})
