import assert from 'node:assert/strict'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  clause(
    'ENF-68',
    'A schema, type or view that is closed to the binding, or that PostgreSQL cannot print,…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { sql } = target.database
      const mallory = await target.createRole('mallory')
      const act = (text: string) => target.runAs('mallory', text)
      const look = (text: string) => act(text).then(JSON.stringify, (error: Error) => error.message)
      await sql.unsafe(`create schema app; grant usage on schema app to "${mallory}"; create schema lair authorization "${mallory}";
        create table app.person (id int, mail text); insert into app.person values (7, 'raw'); grant select on app.person to "${mallory}"`)
      await act('create table lair.lost (id int)')
      await sql.unsafe(`create view lair.broken as select id, cardinality(array[]::lair.lost[]) as n from app.person;
        create view lair.rows as select id, mail from app.person; grant select on lair.broken, lair.rows to "${mallory}"`)
      const rules = [rule('app.person.mail')]
      await takeTurn(target.database, policy(rules))
      assert.equal(await look('select * from masked_lair.broken'), '[{"id":7,"n":0}]')
      await act('drop table lair.lost')

      await takeTurn(target.database, policy([...rules, rule('app.person.id')]))
      assert.equal(await look('select * from masked_app.person'), '[{"id":0,"mail":"XXXX"}]')
      assert.equal(await look('select * from masked_lair.rows'), '[{"id":0,"mail":"XXXX"}]')
      assert.match(
        await look('select * from masked_lair.broken'),
        /does not exist|permission denied|cache lookup failed/,
      )
      const { steps } = await takeTurn(target.database, policy([...rules, rule('app.person.id')]))
      assert.deepEqual(steps, [])
    },
  )
})
