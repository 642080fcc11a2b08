import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before } from 'node:test'
import { type Database, openDatabase } from '../../src/db/database.ts'
import type { ClusterName } from './cluster.ts'
import { fillDirectory, type TestDirectory } from './directory.ts'
import { bindingOf, createMaskedDatabase } from './masked-database.ts'
import { emailRule, freshDatabase, useMasking } from './masking.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** The value of `person.email`. */
export const rawEmail = 'ann@example.com'

/**
 * A database whose table `person` is masked, bound with a superuser or with a role `binder` that has the least rights, and
 * people who come to it as login roles. `mapped` are roles that a mapping may give them; the first one reads `person`.
 */
export function useLoginRoles(cluster: ClusterName, isSuperuser: boolean, mapped: readonly string[]) {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const db = freshDatabase()
  const opened: Database[] = []
  let target: Target
  let directory: TestDirectory
  let databaseId = ''
  const controller = () => masking.service().enforcement
  const run = (text: string) => target.database.sql.unsafe(text)
  const prepare = (id: string) => controller().prepareLogin(databaseId, id)
  const credentials = () => (isSuperuser ? {} : { user: target.role('binder'), password: 'secret' })
  const bind = (url: string) =>
    masking.send('PUT', db, { properties: { binding: bindingOf(url, credentials()) } })

  /** A session with a password, past the gateway. */
  function open(role: string, password: string): Database {
    const url = new URL(target.url)
    url.username = encodeURIComponent(role)
    url.password = encodeURIComponent(password)
    const session = openDatabase({ url: url.href, poolSize: 1, searchPath: 'public' })
    opened.push(session)
    return session
  }

  before(async () => {
    target = await createMaskedDatabase(cluster)
    directory = fillDirectory(masking.service())
    const roles: string[] = []
    for (const name of mapped) roles.push(await target.createRole(name, ''))
    const owner = await target.createRole('owner', '')
    await run(`create table public.person (id int, email text); insert into public.person values (1, '${rawEmail}');
      grant usage on schema public to public; grant select on public.person to "${roles[0]}";
      grant create on schema public to "${owner}"; alter table public.person owner to "${owner}"`)
    const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
    await run(`grant "${owner}" to "${binder}";
      grant create on database "${new URL(target.url).pathname.slice(1)}" to "${binder}"`)
    const [server] = await run(`select current_setting('server_version_num')::int as version`)
    if (server?.version >= 160000)
      for (const role of roles)
        await run(`grant "${role}" to "${binder}" with admin true, inherit false, set false`)
    const bound = await bind(target.url)
    assert.equal(bound.status, 201, bound.text)
    assert.equal((await masking.putRule(db, 'mail', emailRule)).status, 201)
    const [found] = await masking.service().database.sql<{ id: string }[]>`
      select id from masked_database where binding is not null`
    databaseId = found?.id ?? assert.fail('the database is not bound')
  })
  after(async () => {
    for (const session of opened) await session.close()
    await target[Symbol.asyncDispose]()
  })

  return {
    masking,
    db,
    controller,
    run,
    bind,
    prepare,
    open,
    target: () => target,
    directory: () => directory,
    databaseId: () => databaseId,
    settle: () => controller().settle(databaseId),

    /** Maps one of the roles to a principal and returns the path of the mapping. */
    async map(principalId: string, databaseRole: string): Promise<string> {
      const path = `${db}/roleMappings/${randomUUID()}`
      const put = await masking.send('PUT', path, { properties: { principalId, databaseRole } })
      assert.equal(put.status, 201, put.text)
      return path
    },

    /** Exempts these alone, and returns the state of the enforcement. */
    async exempt(...entries: string[]): Promise<string | null> {
      const policy = { dataMaskingState: 'Enabled', exemptPrincipals: entries.join(';') }
      const put = await masking.putPolicy(db, policy)
      assert.equal(put.status, 200, put.text)
      return put.headers.get('x-masquerade-enforcement')
    },

    /** A session as the login role of a principal, who may log in. */
    async connect(id: string) {
      const outcome = await prepare(id)
      if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
      const session = open(outcome.login.role, outcome.login.password)
      const [own] = await session.sql`select pg_backend_pid() as pid`
      return {
        role: outcome.login.role,
        run: (text: string) => session.sql.unsafe(text),
        /** False once the server process of the session has ended; a pool would open another one. */
        isOpen: async (): Promise<boolean> =>
          (await target.database.sql`select 1 from pg_stat_activity where pid = ${own?.pid ?? 0}`).length > 0,
      }
    },
  }
}

/** A session of `connect`. */
export type LoginSession = Awaited<ReturnType<ReturnType<typeof useLoginRoles>['connect']>>
