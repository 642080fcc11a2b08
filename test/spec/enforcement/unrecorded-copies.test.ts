import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { keepInMemory } from '../../support/kept-in-memory.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { listPrivileges } from '../../support/privileges.ts'

/** The role of the binding may not make a place for its records. A masked role has a materialized view that others read. */
forEachCluster((cluster) => {
  describe('materialized views whose records the service keeps', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let [owner, maker, reader]: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    const listGrants = () => listPrivileges(target.database, [String(reader)])
    const isDenied = (name: string) =>
      assert.rejects(target.runAs('reader', `select mail from app.${name}`), /permission denied/, name)

    before(async () => {
      target = await createMaskedDatabase(cluster)
      owner = await target.createRole('owner')
      maker = await target.createRole('maker')
      reader = await target.createRole('reader')
      const columns = Array.from({ length: 1_598 }, (_, at) => `id as c${at}`)
      const wide = `select mail, ${columns.join()} from app.people`
      await run(`create schema app; grant usage, create on schema app to public; grant "${maker}" to "${owner}"; set role "${owner}";
        create table app.people (id int, mail text); insert into app.people values (1, 'raw');
        grant select on app.people to "${maker}", "${reader}"; set role "${maker}";
        create view app.below as select id, mail from app.people; create materialized view app.copy as select id, mail from app.below;
        grant select on app.copy to "${owner}", "${reader}"`)
      for (let at = 0; at < 14; at++) await run(`create materialized view app.wide${at} as ${wide}`)
      await run(`grant select on app.wide13 to "${reader}"; set role "${owner}"; create view app.over as select mail from app.copy;
        grant select on app.over to "${reader}"; reset role`)
    })
    after(() => target[Symbol.asyncDispose]())

    clause(
      'ENF-489',
      'Where the service keeps the records itself, materialized views of masked roles are closed by the one turn that there is, …',
      async () => {
        const kept = keepInMemory()
        const turn = (...columns: string[]) =>
          reconcile(target.connectAs('owner'), policy(columns.map((name) => rule(name))), { kept }).catch(
            (error: Error) => assert.match(error.message, /permission denied/),
          )
        const before = await listGrants()
        await turn('app.people.mail')
        const all = ['people', 'copy', 'over', 'wide13']
        for (const name of all) await isDenied(name)
        const count = kept.count()
        // The maker cuts the copy off from what it holds, then empties it.
        await target.runAs('maker', `create or replace view app.below as select 0 as id, '' as mail`)
        await turn('app.people.mail')
        for (const name of all) await isDenied(name)
        await target.runAs('maker', `create or replace view app.below as select id, mail from app.people`)
        await target.runAs('maker', 'refresh materialized view app.copy with no data')
        await turn('app.people.mail')
        assert.equal(kept.count(), count)
        for (const name of all) await isDenied(name)
        await turn()
        assert.deepEqual(await listGrants(), before)
      },
    )
  })
})
