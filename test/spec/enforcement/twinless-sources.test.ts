import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { readMaskedFor } from '../../../src/findings/per-role/read-masked.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  describe('what the gateway reads of masked tables without twins', () => {
    clause(
      'ENF-484',
      'A masked table without a twin, as one that is suspended, keeps the gateway from masking and auditing no other: …',
      async () => {
        await using target = await createMaskedDatabase(cluster)
        const { sql } = target.database
        const reader = await target.createRole('reader')
        await sql.unsafe(`create schema app; create table app.people (id int, mail text); create table app.staff (id int, mail text);
          grant usage on schema app to public; grant select on app.people, app.staff to "${reader}"`)
        const wanted = policy([rule('app.people.mail'), rule('app.staff.mail')])
        await takeTurn(target.database, wanted)
        await takeTurn(target.database, { ...wanted, suspended: [{ schema: 'app', table: 'staff' }] })
        const masked = (await readMaskedFor(sql, [reader])).get(reader)
        assert.deepEqual(
          masked?.relations.map(({ name }) => name),
          ['people'],
        )
        for (const column of ['app.people.mail', 'app.staff.mail'])
          assert.ok(JSON.stringify(masked?.watched).includes(`"${column}"`), column)
      },
    )
  })
})
