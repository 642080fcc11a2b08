import assert from 'node:assert/strict'
import { markPrefix } from '../../../src/db/login-mark.ts'
import { findLeftovers } from '../../../src/findings/leftovers.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
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
  const title = 'DROP OWNED is run on no role but owners of twins that the records know by OID, …'

  clause(
    'ENF-390',
    'Statements for operators have DROP OWNED of no role that owns more than twins…',
    async () => {
      const scene = await createScene(cluster)
      await using target = scene.target
      const id = '11111111-1111-1111-1111-111111111111'
      const team = target.role('team')
      await target.runAs('mallory', `comment on role "${team}" is '${markPrefix(id, id)}x'`)
      const left = await findLeftovers(target.database.sql, id)
      const [login] = left.filter(({ kind }) => kind === 'login role')
      assert.deepEqual([login?.name, login?.statement], [team, `DROP ROLE "${team}"`])
    },
  )

  clause('ENF-388', title, async () => {
    const scene = await createScene(cluster)
    await using target = scene.target
    const oid = await scene.ask('select oid from pg_database where datname = current_database()')
    for (const name of [`masquerade_twins_${scene.database}`, `masquerade_twins_${oid}_10`]) {
      await scene.rename(name)
      assert.deepEqual(await findLeftovers(target.database.sql, '00000000-0000-0000-0000-000000000000'), [])
      await scene.run(`alter role "${name}" rename to "${target.role('team')}"`)
    }
  })

  clause('ENF-388', title, async () => {
    const scene = await createScene(cluster)
    await using target = scene.target
    const { ask } = scene
    await takeTurn(target.database, rules)
    const owner = `select relowner::regrole::text from pg_class where oid = 'masked_app.people'::regclass`
    await scene.rename(`masquerade_twins_${target.role('other')}`)
    const renamed = `masquerade_twins_${target.role('renamed')}`
    await scene.run(`alter role "${await ask(owner)}" rename to "${renamed}"`)
    await takeTurn(target.database, rules)
    assert.ok(await scene.isWhole())
    assert.equal(await scene.readMail(), 'XXXX')
    assert.equal(await ask(owner), renamed)
    const other = `masquerade_twins_${target.role('other')}`
    assert.equal(await ask(`has_table_privilege('${other}', 'app.people', 'select')`), false)
    await takeTurn(target.database, policy([]))
    assert.ok(await scene.isWhole())
    assert.equal(await ask(`select count(*)::int from pg_roles where rolname = '${renamed}'`), 0)
    await scene.run(`drop owned by "${other}"; drop role "${other}"`)
  })
})
