import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

const raw = 'ann@example.com'

/** Roles belong to the server: a mapping in one database reaches into the others. */
forEachCluster((cluster) => {
  describe('two bound databases of one server', () => {
    const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
    const [shop, clinic] = [freshDatabase(), freshDatabase()]
    const opened: Database[] = []
    let [one, other]: Target[] = []
    let ana = ''
    const idOf = async (db: string) => {
      const name = db.replace(/^.*\//, '')
      const [row] = await masking.service().database.sql<{ id: string }[]>`
        select id from masked_database where name = ${name}`
      return row?.id ?? ''
    }
    const bind = async (db: string, target: Target | undefined) => {
      const put = await masking.send('PUT', db, { properties: { binding: bindingOf(target?.url ?? '') } })
      assert.equal(put.status, 201, put.text)
      assert.equal((await masking.putRule(db, 'mail', emailRule)).status, 201)
    }
    const exempt = async (...entries: string[]) => {
      const policy = { dataMaskingState: 'Enabled', exemptPrincipals: entries.join(';') }
      const put = await masking.putPolicy(clinic, policy)
      assert.equal(put.headers.get('x-masquerade-enforcement'), 'Enforced', put.text)
    }
    const map = (databaseRole: string) =>
      masking.send('PUT', `${shop}/roleMappings/m`, { properties: { databaseRole, principalId: ana } })
    const unmap = () => masking.send('DELETE', `${shop}/roleMappings/m`)
    const notes = async () => (await masking.send('GET', `${policyUrl(shop)}/enforcement`)).body.notes
    /** Ana, logged in to the shop, gives her role a password of her own: the address by which she connects to the clinic with it. */
    const takeLogin = async (): Promise<string | null> => {
      const outcome = await masking.service().enforcement.prepareLogin(await idOf(shop), ana)
      if (outcome.kind !== 'ready') return null
      const role = outcome.login.role
      await one?.database.sql.unsafe(`alter role "${role}" password 'of my own'`)
      const url = new URL(other?.url ?? '')
      url.username = encodeURIComponent(role)
      url.password = encodeURIComponent('of my own')
      return url.href
    }
    const connectRaw = async (): Promise<Database | null> => {
      const url = await takeLogin()
      if (url === null) return null
      const session = openDatabase({ url, poolSize: 1, searchPath: 'public' })
      opened.push(session)
      return session
    }
    const read = (session: Database | null) =>
      session?.sql.unsafe('select email from public.person').then(
        ([row]) => row?.email,
        () => undefined,
      )

    before(async () => {
      one = await createMaskedDatabase(cluster)
      other = await createMaskedDatabase(cluster)
      for (const target of [one, other])
        await target.database.sql.unsafe(`create table public.person (id int, email text);
          insert into public.person values (1, '${raw}'); grant usage on schema public to public`)
      for (const name of ['doctors', 'interns', 'surgeons', 'nurses', 'porters']) {
        const role = await other.createRole(name, 'NOLOGIN')
        await other.database.sql.unsafe(`grant select on public.person to "${role}"`)
      }
      ana = await fillDirectory(masking.service()).user()
      await bind(shop, one)
      await bind(clinic, other)
    })
    after(async () => {
      for (const session of opened) await session.close()
      await one?.[Symbol.asyncDispose]()
      await other?.[Symbol.asyncDispose]()
    })

    clause(
      'GATE-195',
      'A role that another bound database of the same server exempts, or a member of one, is not mapped: 400…',
      async () => {
        const doctors = String(other?.role('doctors'))
        const interns = String(other?.role('interns'))
        await other?.database.sql.unsafe(`grant "${doctors}" to "${interns}"`)
        await exempt(doctors)
        for (const role of [doctors, interns]) {
          const { status, body, text } = await map(role)
          assert.equal(status, 400, text)
          assert.deepEqual(
            [body.error.code, body.error.target],
            ['InvalidRoleMapping', 'properties.databaseRole'],
          )
          assert.match(body.error.message, /is exempt from the masks of another database of the server/)
          assert.ok(!text.includes(clinic), 'the other database is not named')
        }
        await exempt()
        assert.equal((await map(interns)).status, 201)
        assert.equal((await unmap()).status, 200)
      },
    )

    const audit = () => masking.service().database.sql`
      update enforcement_state set next_check_at = now()
      where database_id in (select id from masked_database where name = ${shop.replace(/^.*\//, '')})`

    clause(
      'GATE-389',
      'A mapped role that another bound database of the server begins to exempt, or one that is bound later, is revoked from…',
      async () => {
        const doctors = String(other?.role('surgeons'))
        assert.equal((await map(doctors)).status, 201)
        const session = await connectRaw()
        assert.equal(await read(session), undefined)
        await exempt(doctors)
        await audit()
        await waitUntil('the state says so', async () =>
          (await notes()).some(
            ({ code, target }: { code: string; target: string }) =>
              code === 'MappedRole' && target === doctors,
          ),
        )
        assert.equal(await read(session), undefined, 'the session has ended, or has lost the role')
        assert.equal(await connectRaw(), null)
        await exempt()
        await unmap()
      },
    )

    clause(
      'GATE-389',
      'A mapped role that another bound database of the server begins to exempt, or one that is bound later, is revoked from…',
      async () => {
        const third = await createMaskedDatabase(cluster)
        const doctors = String(other?.role('nurses'))
        await third.database.sql.unsafe(`create table public.person (id int, email text);
        insert into public.person values (1, '${raw}'); grant select on public.person to "${doctors}"`)
        assert.equal((await map(doctors)).status, 201)
        assert.notEqual(await connectRaw(), null)
        const late = freshDatabase()
        const policy = { dataMaskingState: 'Enabled', exemptPrincipals: doctors }
        await masking.putPolicy(late, policy)
        assert.notEqual(await connectRaw(), null, 'a list without a database counts nothing')
        await bind(late, third)
        assert.equal(await connectRaw(), null, 'a database that is bound later')
        await masking.send('DELETE', `${late}/dataMaskingPolicies/Default/rules/mail`)
        assert.equal((await masking.send('DELETE', late)).status, 200)
        assert.notEqual(await connectRaw(), null, 'and goes')
        await unmap()
        await third[Symbol.asyncDispose]()
      },
    )
  })
})
