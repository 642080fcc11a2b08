import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { clause } from '../../support/clause.ts'
import { createTestLogins } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  describe('login roles that were granted to other roles', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let eve: pg.Client
    const run = (text: string) => target.database.sql.unsafe(text)
    before(async () => {
      target = await createMaskedDatabase(cluster)
      await target.createRole('eve')
      eve = new pg.Client({ connectionString: target.urlOf('eve') })
      eve.on('error', () => {})
      await eve.connect()
    })
    after(async () => {
      await eve?.end().catch(() => {})
      await target[Symbol.asyncDispose]()
    })

    clause(
      'GATE-331',
      'Where a role that was a member of a login role has open sessions when that is revoked (GATE-07), the `notes` and the log have…',
      async () => {
        const readers = await target.createRole('readers', 'NOLOGIN')
        await run(`create table public.person (id int, city text); insert into public.person values (1, 'Ghent');
          grant usage on schema public to public; grant select on public.person to "${readers}"`)
        const directory = createTestLogins(target.database)
        const noor = directory.add('noor@contoso.com', [readers])
        const outcome = await directory.prepare(noor)
        if (outcome.kind !== 'ready') return assert.fail(JSON.stringify(outcome))
        // Before PostgreSQL 15 the login role may do this itself.
        await run(`grant "${outcome.login.role}" to "${target.role('eve')}"`)
        await eve.query(`set role "${readers}"`)
        const [own] = (await eve.query('select pg_backend_pid() as pid')).rows
        directory.remove(noor)
        const { notes } = await directory.settle()
        const [{ message } = { message: '' }] = notes.filter(({ code }) => code === 'LoginRole')
        assert.ok(message.includes(`"${target.role('eve')}" was a member of "${outcome.login.role}"`))
        const [statement = ''] = /SELECT .*\)/.exec(message) ?? []
        assert.equal(statement, `SELECT pg_terminate_backend(${own.pid})`)
        assert.equal((await eve.query('select city from public.person')).rowCount, 1, 'what the note says')
        await run(statement)
        await assert.rejects(eve.query('select city from public.person'))
        assert.deepEqual((await directory.settle()).notes, [])
      },
    )
  })
})
