import assert from 'node:assert/strict'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/** Far less than it takes to print a list of thousands: a server that prints slowly. */
const limits = { togetherMs: 1, leastMs: 1, eachMs: 0, inAllMs: 0 }

/** A table, a long view of the masked role mallory over it, and one of the owner of the table with a rule of its own. */
async function createTarget(cluster: Parameters<typeof createMaskedDatabase>[0]) {
  const target = await createMaskedDatabase(cluster)
  const mallory = await target.createRole('mallory')
  const isLong = `id not in (${Array.from({ length: 5000 }, (_, at) => -at).join()})`
  await target.database.sql.unsafe(`create schema app; grant usage on schema app to "${mallory}"; create schema lair authorization "${mallory}";
    create table app.person (id int, mail text); insert into app.person values (7, 'raw');
    create view app.ruled as select id, mail from app.person where ${isLong}; grant select on app.person, app.ruled to "${mallory}"`)
  const act = (text: string) => target.runAs('mallory', text)
  await act(`create view lair.v as select id, mail from app.person where ${isLong}`)
  const rules = policy([rule('app.person.mail'), rule('app.ruled.id')])
  await reconcile(target.database, rules)
  const turn = async () => (await reconcile(target.database, rules, { printing: { limits } })).steps
  return Object.assign(target, { act, isLong, turn })
}

forEachCluster((cluster) => {
  clause(
    'ENF-421',
    'A twin that PostgreSQL does not print in time stays as it is where its rule and the names of its columns are those …',
    async () => {
      await using target = await createTarget(cluster)
      const { act, turn } = target
      assert.deepEqual(await turn(), [])
      assert.deepEqual(await turn(), [])
      assert.deepEqual(await act('select * from masked_lair.v'), [{ id: 7, mail: 'XXXX' }])
      assert.deepEqual(await act('select * from masked_app.ruled'), [{ id: 0, mail: 'XXXX' }])
    },
  )

  clause(
    'ENF-422',
    'Any other twin that PostgreSQL does not print in time is made again by the same turn…',
    async () => {
      await using target = await createTarget(cluster)
      const { act, turn, isLong } = target
      const changes = [
        `create or replace rule "_RETURN" as on select to masked_lair.v do instead
        select id, 'other'::text as mail from masked_app.person where ${isLong}`,
        'alter view masked_lair.v rename mail to other',
      ]
      for (const change of changes) {
        await act(change)
        assert.notDeepEqual(await turn(), [])
        assert.deepEqual(await act('select * from masked_lair.v'), [{ id: 7, mail: 'XXXX' }])
        assert.deepEqual(await turn(), [])
      }
    },
  )
  clause('ENF-423', 'A rule that the owner of a twin adds for INSERT, UPDATE or DELETE …', async () => {
    await using target = await createMaskedDatabase(cluster)
    const mallory = await target.createRole('mallory')
    await target.database.sql.unsafe(`create schema app; grant usage on schema app to "${mallory}"; create schema lair authorization "${mallory}";
      create table app.person (id int, mail text); insert into app.person values (7, 'raw');
      create table app.salary (id int, pay text); grant select on app.person, app.salary to "${mallory}"`)
    const act = (text: string) => target.runAs('mallory', text)
    await act(`create function lair.f(int) returns int language sql as 'select 1';
      create view lair.v as select lair.f(id) as id, mail from app.person; create view lair.w as select lair.f(id) as id, mail from app.person`)
    await reconcile(target.database, policy([rule('app.person.mail')]))
    await act(`create rule added as on delete to masked_lair.v do instead nothing;
      create rule added as on insert to masked_lair.w do instead select lair.f(1), lair.f(2);
      grant select on lair.v, lair.w to public`)
    const both = policy([rule('app.person.mail'), rule('app.salary.pay')])
    await reconcile(target.database, both)
    for (const view of ['v', 'w'])
      assert.deepEqual(await act(`select * from masked_lair.${view}`), [{ id: 1, mail: 'XXXX' }])
    assert.deepEqual((await reconcile(target.database, both)).steps, [])
  })
})
