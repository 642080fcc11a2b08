import assert from 'node:assert/strict'
import { after, afterEach, before, describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { openDelayed } from '../../support/delayed-session.ts'
import { createTestLogins } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** The role that the service connects as. */
const bindings = [
  'a superuser',
  'a role that may create roles',
  'one that does not inherit',
  'one that may signal',
]

forEachCluster((cluster) => {
  for (const binding of bindings)
    describe(`login roles of sessions that start, made by ${binding}`, () => {
      let target: Target
      let directory: ReturnType<typeof createTestLogins>
      let [readers, database] = ['', '']
      const run = (text: string) => target.database.sql.unsafe(text)

      before(async () => {
        target = await createMaskedDatabase(cluster)
        database = target.url.replace(/^.*\//, '')
        readers = await target.createRole('readers', '')
        await target.createRole('stranger')
        await run(`create table public.person (id int, email text); insert into public.person values (1, 'raw');
          grant usage on schema public to public; grant select on public.person to "${readers}"`)
        let session: Database = target.database
        if (binding !== 'a superuser') {
          const binder = await target.createRole(
            'binder',
            `LOGIN CREATEROLE ${binding === 'one that does not inherit' ? 'NOINHERIT' : ''}`,
          )
          if (binding === 'one that may signal') await run(`grant pg_signal_backend to "${binder}"`)
          const [row] = await run(`select current_setting('server_version_num')::int as version`)
          if (row?.version >= 160000)
            await run(`grant "${readers}" to "${binder}" with admin true, inherit false, set false`)
          session = target.connectAs('binder')
        }
        directory = createTestLogins(session)
      })
      afterEach(async () => {
        directory.clear()
        await directory.settle()
      })
      after(() => target[Symbol.asyncDispose]())

      /** A session that begins as the mapped role, and shows its own role some seconds later. */
      const delay = async (principalId: string) => {
        const outcome = await directory.prepare(principalId)
        if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
        const url = new URL(target.url)
        url.username = encodeURIComponent(outcome.login.role)
        url.password = encodeURIComponent(outcome.login.password)
        return await openDelayed(target.database, url.href, `-W 30 -c role=${readers}`)
      }

      clause(
        'GATE-322',
        'A session of a login role that has not shown its role yet, as PostgreSQL is still starting it, ends like the others…',
        async () => {
          const noor = directory.add('noor@contoso.com', [readers])
          const gone = directory.add('gone@contoso.com', [readers])
          const ana = directory.add('ana@contoso.com', [readers])
          await using unmapped = await delay(noor)
          await using dropped = await delay(gone)
          await using kept = await delay(ana)
          await using stranger = await openDelayed(
            target.database,
            target.urlOf('stranger'),
            '-c post_auth_delay=30',
          )
          directory.set(noor, { roles: [] })
          directory.remove(gone)
          const { ended } = await directory.settle()
          for (const one of [unmapped, dropped])
            await assert.rejects(one.query('select email from public.person'), /terminat|connection error/)
          assert.equal(ended, 2)
          for (const one of [kept, stranger]) assert.equal(await one.isOpen(), true)
          await waitUntil('the login roles are dropped', async () => {
            await directory.settle()
            const left = await run(
              `select from pg_roles where rolname in ('noor@contoso.com/${database}', 'gone@contoso.com/${database}')`,
            )
            return left.length === 0
          })
        },
      )
    })
})
