import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { LoginOutcome } from '../../../src/enforcement/logins/logins.ts'
import { createTestLogins } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** Who the service connects as. */
const bindings = ['a superuser', 'a role that may create roles'] as const

forEachCluster((cluster) => {
  for (const binding of bindings)
    describe(`login roles, made by ${binding}`, () => {
      let target: Target
      let session: Database
      let version = 0
      let [readers, writers, name]: string[] = []
      let directory: ReturnType<typeof createTestLogins>
      const run = (text: string) => target.database.sql.unsafe(text)
      const opened: Database[] = []

      before(async () => {
        target = await createMaskedDatabase(cluster)
        readers = await target.createRole('readers', '')
        writers = await target.createRole('writers', '')
        name = target.url.replace(/^.*\//, '')
        const [row] = await run(`select current_setting('server_version_num')::int as version`)
        version = row?.version
        await run(`create table public.person (id int, email text); insert into public.person values (1, 'raw');
          grant usage on schema public to public;
          grant select on public.person to "${readers}"; grant insert on public.person to "${writers}"`)
        if (binding === 'a superuser') session = target.database
        else {
          const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
          if (version >= 160000)
            await run(
              `grant "${readers}", "${writers}" to "${binder}" with admin true, inherit false, set false`,
            )
          session = target.connectAs('binder')
        }
        directory = createTestLogins(session)
      })
      after(async () => {
        await Promise.all(opened.map((one) => one.close()))
        for (const { name: role } of await run(
          `select rolname as name from pg_roles where shobj_description(oid, 'pg_authid') like 'masquerade login%'`,
        ))
          await run(`drop owned by "${role}"; drop role "${role}"`)
        await target[Symbol.asyncDispose]()
      })

      const connect = (outcome: LoginOutcome): Database => {
        assert.equal(outcome.kind, 'ready', JSON.stringify(outcome))
        if (outcome.kind !== 'ready') throw new Error()
        const url = new URL(target.url)
        url.username = encodeURIComponent(outcome.login.role)
        url.password = encodeURIComponent(outcome.login.password)
        const one = openDatabase({ url: url.href, poolSize: 1, searchPath: 'public' })
        opened.push(one)
        return one
      }
      const roleOf = async (role: string) =>
        (await run(`select * from pg_roles where rolname = '${role}'`))[0]

      test('is made at the first login', async () => {
        const ana = directory.add('Ana@contoso.com', [String(readers)])
        assert.equal(await roleOf(`ana@contoso.com/${name}`), undefined)
        const outcome = await directory.prepare(ana)
        const one = connect(outcome)
        assert.deepEqual(await one.sql`select session_user::text as name`, [
          { name: `ana@contoso.com/${name}` },
        ])
        assert.deepEqual(await one.sql`select email from public.person`, [{ email: 'raw' }])
        await assert.rejects(one.sql`insert into public.person values (2, 'x')`, /permission denied/)
        const again = await directory.prepare(ana)
        assert.equal(again.kind === 'ready' && again.changed, false)
        assert.deepEqual((await directory.settle()).changed, 0)
        directory.set(ana, { roles: [String(readers), String(writers)] })
        assert.equal((await directory.settle()).changed, 1)
        await one.sql`insert into public.person values (2, 'x')`
        const [own] = await one.sql`select pg_backend_pid() as pid`
        directory.set(ana, { roles: [String(writers)] })
        const { ended } = await directory.settle()
        assert.equal(ended, 1)
        assert.deepEqual(await run(`select 1 from pg_stat_activity where pid = ${own?.pid}`), [])
        const two = connect(await directory.prepare(ana))
        await assert.rejects(two.sql`select email from public.person`, /permission denied/)
        await two.sql`select 1`
        directory.remove(ana)
        assert.equal((await directory.prepare(ana)).kind, 'noRole')
        assert.equal((await directory.settle()).ended, 1)
        assert.equal(await roleOf(`ana@contoso.com/${name}`), undefined)
      })
    })
})
