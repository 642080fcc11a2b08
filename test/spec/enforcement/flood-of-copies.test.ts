import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { promised } from '../../support/wait-until.ts'

const canary = 'zqcanary'

/** The binding acts for the owner of the tables, and not for the masked role that makes materialized views over them. */
forEachCluster((cluster) => {
  describe('floods of materialized views', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let binding: Database
    const run = (text: string) => target.database.sql.unsafe(text)
    const make = (text: string) => target.runAs('mallory', text)
    const [mail, note] = [rule('app.person.mail'), rule('app.person.note')]
    const isDenied = () =>
      assert.rejects(target.runAs('clerk', 'select note from app.person'), /permission denied/)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      const clerk = await target.createRole('clerk')
      const mallory = await target.createRole('mallory')
      const owner = await target.createRole('owner', '')
      const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      await run(`create schema app; grant usage on schema app to public; grant create on schema app to "${owner}";
        create schema lair authorization "${mallory}"; create table app.person (id int primary key, mail text, note text);
        insert into app.person values (1, '${canary}', '${canary}'); grant select on app.person to "${clerk}";
        grant select (id) on app.person to "${mallory}"; alter table app.person owner to "${owner}"; grant "${owner}" to "${binder}";
        grant create on database "${target.url.replace(/^.*\//, '')}" to "${binder}"`)
      binding = openDatabase({
        url: target.urlOf('binder'),
        poolSize: 2,
        searchPath: 'public',
        statementTimeoutMs: 60_000,
      })
    })
    after(async () => {
      await binding?.close()
      await target[Symbol.asyncDispose]()
    })

    clause(
      'ENF-236',
      'However many, wide or long the views and materialized views of a masked role are, and…',
      async () => {
        const others: string[] = []
        for (let at = 0; at < 60; at++) others.push(`"${await target.createRole(`other${at}`, 'NOLOGIN')}"`)
        const columns = Array.from({ length: 1600 }, (_, at) => `c${at}`)
        const select = `select ${columns.map((column) => `id as ${column}`).join()} from app.person`
        const floods: Readonly<Record<string, string>> = {
          'without data': `create materialized view lair.wide as ${select} with no data`,
          'with data': `create materialized view lair.wide as ${select}`,
          'a view beside one with data': `create materialized view lair.filled as select id from app.person; create view lair.wide as ${select}`,
        }
        for (const [what, create] of Object.entries(floods)) {
          await takeTurn(binding, policy([mail]))
          await make(`${create}; grant select (${columns.join()}) on lair.wide to ${others.join()}`)
          const from = Date.now()
          await takeTurn(binding, policy([mail, note]))
          assert.ok(Date.now() - from < promised(10_000), `${what}: ${Date.now() - from} ms`)
          await isDenied()
          await run('drop schema lair cascade')
          await run(`create schema lair authorization "${target.role('mallory')}"`)
        }
        await takeTurn(binding, policy([]))
      },
    )
  })
})
