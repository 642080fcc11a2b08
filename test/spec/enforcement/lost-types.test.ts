import assert from 'node:assert/strict'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  clause(
    'ENF-383',
    'A twin that PostgreSQL cannot print, as a type that it has was dropped, keeps no other relation from its masks…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const mallory = await target.createRole('mallory')
      const act = (text: string) => target.runAs('mallory', text)
      const look = (text: string) => act(text).then(JSON.stringify, (error: Error) => error.message)
      await sql.unsafe(`create schema app; grant usage on schema app to "${mallory}"; create schema lair authorization "${mallory}";
        create table app.person (id int, mail text); insert into app.person values (7, 'raw'); grant select on app.person to "${mallory}"`)
      await act(`create table lair.lost (id int); create view lair.broken as select id, cardinality(array[]::lair.lost[]) as n from app.person;
        create view lair.rows as select id, mail from app.person; create view lair.counted as select id, cardinality(array[]::lair.rows[]) as n from app.person`)
      const rules = [rule('app.person.mail')]
      await reconcile(target.database, policy(rules))
      assert.equal(await look('select * from masked_lair.broken'), '[{"id":7,"n":0}]')
      await act('drop table lair.lost; drop view masked_lair.rows')
      assert.match(await look('select * from masked_lair.counted'), /cache lookup failed/)

      await reconcile(target.database, policy([...rules, rule('app.person.id')]))
      assert.equal(await look('select * from masked_app.person'), '[{"id":0,"mail":"XXXX"}]')
      assert.equal(await look('select * from masked_lair.rows'), '[{"id":0,"mail":"XXXX"}]')
      assert.equal(await look('select * from masked_lair.counted'), '[{"id":0,"n":0}]')
      assert.match(await look('select * from masked_lair.broken'), /does not exist|permission denied/)
      const { steps } = await reconcile(target.database, policy([...rules, rule('app.person.id')]))
      assert.deepEqual(steps, [])
    },
  )

  clause(
    'ENF-384',
    'A check of a domain that PostgreSQL cannot print, as a type that it has was dropped, keeps no relation from its masks.…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const mallory = await target.createRole('mallory')
      const reader = await target.createRole('reader')
      await sql.unsafe(`create schema app; grant usage on schema app to "${reader}"; create schema lair authorization "${mallory}";
        create table app.person (id int, mail text); insert into app.person values (7, 'raw'); grant select on app.person to "${reader}"`)
      await target.runAs(
        'mallory',
        `create table lair.lost (id int); create domain lair.amount as int check (value >= cardinality(array[]::lair.lost[]));
          create table lair.own (amount lair.amount); drop table lair.lost`,
      )
      await reconcile(target.database, policy([rule('app.person.mail'), rule('lair.own.amount')]))
      assert.deepEqual(await target.runAs('reader', 'select * from masked_app.person'), [
        { id: 7, mail: 'XXXX' },
      ])
      await assert.rejects(target.runAs('reader', 'select mail from app.person'), /permission denied/)
    },
  )
})
