import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { promised } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** The database, of which the first transaction fails. */
function failOnce(database: Database, failure: Error): Database {
  let hasFailed = false
  return {
    ...database,
    transaction: async (...given) => {
      if (hasFailed) return await database.transaction(...given)
      hasFailed = true
      throw failure
    },
  }
}

/** A masked role with CREATE on a schema of its own makes the binding run, or read, more than there is time and memory for. */
forEachCluster((cluster) => {
  describe('floods', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let analyst: string
    const run = (text: string) => target.database.sql.unsafe(text)
    const readAs = (name: string, text: string) => target.runAs(name, text)
    const mail = rule('app.people.mail')

    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      await run(`create schema app; grant usage on schema app to public;
        create table app.people (id int, mail text); insert into app.people values (1, '${canary}');
        grant select on app.people to "${analyst}"; create schema lair authorization "${analyst}"`)
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-236',
      'However many, wide or long the views and materialized views of a masked role are, and…',
      async () => {
        const others: string[] = []
        for (let at = 0; at < 60; at++) others.push(`"${await target.createRole(`other${at}`, 'NOLOGIN')}"`)
        await takeTurn(target.database, policy([mail], [analyst]))
        const columns = Array.from({ length: 1600 }, (_, at) => `c${at}`)
        for (const name of ['one', 'two'])
          await readAs(
            'analyst',
            `create ${name === 'two' ? 'materialized view' : 'view'} lair.${name} as select ${columns.map((column) => `id as ${column}`).join()} from app.people
              ${name === 'two' ? 'with no data' : ''};
            grant select (${columns.join()}) on lair.${name} to ${others.join()}`,
          )
        await readAs('analyst', 'create view lair.small as select mail from app.people')
        const isDenied = () =>
          assert.rejects(readAs('analyst', 'select mail from app.people'), /permission denied/)
        let closings = 0
        const onClosed = async () => {
          closings++
          await isDenied()
        }
        const from = Date.now()
        assert.deepEqual((await takeTurn(target.database, policy([mail]), { onClosed })).unfinished, [])
        assert.ok(Date.now() - from < promised(10_000), `${Date.now() - from} ms`)
        await isDenied()
        closings = 0
        await run('drop schema lair cascade')

        const aborted = Object.assign(new Error('aborted'), { code: '25P02' })
        await takeTurn(target.database, policy([mail], [analyst]))
        await takeTurn(failOnce(target.database, aborted), policy([mail]), { onClosed })
        await isDenied()
        assert.equal(closings, 1)
        await takeTurn(target.database, policy([]))
      },
    )
  })
})
