import assert from 'node:assert/strict'
import pg from 'pg'
import { findImpact } from '../../../src/findings/impact/find-impact.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

const canary = 'zqcanary'

forEachCluster((cluster) => {
  clause(
    'ENF-557',
    'A cursor that is open when a first rule comes goes on reading. The impact lists the sessions that may have one, each with…',
    async () => {
      await using target = await createMaskedDatabase(cluster)
      const { database } = target
      const analyst = await target.createRole('analyst')
      await database.sql.unsafe(`create schema app; grant usage on schema app to public;
        create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
        grant select on app.people to "${analyst}"`)
      const rules = policy([rule('app.people.mail')])
      const reader = new pg.Client({ connectionString: target.urlOf('analyst') })
      reader.on('error', () => {})
      await reader.connect()
      const [first] = (await reader.query('select pg_backend_pid() as pid')).rows
      await reader.query('begin; declare old cursor for select mail from app.people')
      const claimant = { databaseId: 'none', nameOwner: async () => null }
      const { reading } = await findImpact(database, rules, claimant)
      const statement = `SELECT pg_terminate_backend(${first.pid})`
      assert.deepEqual(
        reading.map((one) => [one.role, one.statement]),
        [[analyst, statement]],
      )
      await takeTurn(database, rules)
      assert.deepEqual((await reader.query('fetch 1 from old')).rows, [{ mail: canary }])
      await database.sql.unsafe(statement)
      await assert.rejects(reader.query('fetch 1 from old'))
      await reader.end().catch(() => {})
    },
  )
})
