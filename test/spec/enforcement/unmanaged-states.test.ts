import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import pg from 'pg'
import { openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, freshDatabase, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { startOtherNode } from '../../support/other-node.ts'
import { forUsualCluster } from '../../support/postgres.ts'
import type { TestService } from '../../support/service.ts'

const canary = 'zqcanary@example.com'

forUsualCluster((cluster) => {
  describe('the state of a database with views that the role of the binding may not manage', () => {
    const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
    const db = freshDatabase()
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let other: TestService
    let [analyst, readers]: string[] = []
    const run = (text: string) => target.database.sql.unsafe(text)
    /** The state that the answer tells. */
    const mask = async (tableName: string, maskingFunction = 'Email', node = masking.service()) => {
      const body = {
        properties: { schemaName: 'public', tableName, columnName: 'email', maskingFunction },
      }
      const token = node.tokenFor({ role: 'Owner' })
      const put = await node.request('PUT', `${ruleUrl(db, tableName)}?${apiVersion}`, { token, body })
      assert.ok(put.status < 300, put.text)
      return put.headers.get('x-masquerade-enforcement')
    }
    const readState = async () => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
    const readThroughGateway = async (text: string) => {
      const { port } = masking.service().gateway
      const address = { host: '127.0.0.1', port, database: db.replace(/^.*\//, '') }
      const client = new pg.Client({ ...address, user: String(analyst), password: 'secret' })
      await client.connect()
      const answer = await client.query(text).then(
        ({ rows }) => rows,
        ({ message }: Error) => message,
      )
      await client.end()
      return JSON.stringify(answer)
    }

    before(async () => {
      target = await createMaskedDatabase(cluster)
      analyst = await target.createRole('analyst')
      readers = await target.createRole('readers', '')
      const owner = await target.createRole('owner', '')
      const binder = await target.createRole('binder', 'LOGIN CREATEROLE')
      const database = target.url.replace(/^.*\//, '')
      await run(`grant usage on schema public to public; grant create on schema public to "${readers}", "${owner}";
        create table public.person (id int, email text); insert into public.person values (1, '${canary}');
        create table public.client (id int, email text); create table public.guest (id int, email text);
        alter table public.person owner to "${owner}"; alter table public.client owner to "${owner}"; alter table public.guest owner to "${owner}";
        grant select on public.person to "${analyst}", "${readers}";
        create view public.report as select id, email from public.person; grant select on public.report to "${analyst}";
        grant "${owner}" to "${binder}"; grant create on database "${database}" to "${binder}"`)
      const [row] = await run(`select current_setting('server_version_num')::int as version`)
      if (row?.version >= 160000)
        await run(`grant "${readers}" to "${binder}" with admin true, inherit false, set false`)
      const binding = bindingOf(target.url, { user: binder, password: 'secret' })
      const bound = await masking.send('PUT', db, { properties: { binding } })
      assert.equal(bound.status, 201, bound.text)
      other = await startOtherNode(masking.service(), { MASQUERADE_AUDIT_SECONDS: '3600' })
    })
    after(async () => {
      await other?.[Symbol.asyncDispose]()
      await target[Symbol.asyncDispose]()
    })

    clause(
      'ENF-433',
      'A view that reads masked relations with the rights of an owner who sees raw values, and that the…',
      async () => {
        assert.equal(await mask('person'), 'Failed')
        assert.doesNotMatch(await readThroughGateway('select * from public.person'), /zqcanary/)
        assert.match(await readThroughGateway('select * from public.report'), /zqcanary/)
        const { reason } = await readState()
        assert.match(reason, new RegExp(`public.report is not masked.+It shows them to "${analyst}"`))
      },
    )

    clause(
      'ENF-435',
      'The state stays `Failed` for what is not masked (`NotMasked`) when a rule of another table is changed, by whichever node…',
      async () => {
        assert.equal(await mask('client'), 'Failed')
        assert.equal(await mask('guest', 'Email', other), 'Failed')
        assert.equal(await mask('guest', 'Default', other), 'Failed')
        assert.equal(await mask('guest', 'Email'), 'Failed')
        await run(`revoke select on public.report from "${analyst}" cascade`)
        assert.equal(await mask('guest', 'Default', other), 'Enforced')
        assert.doesNotMatch(await readThroughGateway('select * from public.report'), /zqcanary/)
        assert.deepEqual(
          (await readState()).notes.filter(({ code }: { code: string }) => code === 'NotMasked'),
          [],
        )
      },
    )

    clause(
      'ENF-433',
      'A view that reads masked relations with the rights of an owner who sees raw values, and that the…',
      async () => {
        const bob = await fillDirectory(masking.service()).user()
        const properties = { principalId: bob, databaseRole: readers }
        const mapped = await masking.send('PUT', `${db}/roleMappings/${randomUUID()}`, { properties })
        assert.equal(mapped.status, 201, mapped.text)
        const [found] = await masking.service().database.sql<{ id: string }[]>`
          select id from masked_database where binding is not null`
        const outcome = await masking.service().enforcement.prepareLogin(found?.id ?? '', bob)
        if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
        const url = new URL(target.url)
        url.username = encodeURIComponent(outcome.login.role)
        url.password = outcome.login.password
        const session = openDatabase({ url: url.href, poolSize: 1, searchPath: 'public' })
        await session.sql.unsafe(
          `create view public.of_bob as select email from public.person; grant select on public.of_bob to public`,
        )
        await session.close()
        assert.equal(await mask('guest', 'Email'), 'Enforced')
        assert.doesNotMatch(await readThroughGateway('select * from public.of_bob'), /zqcanary/)
        const exempt = { dataMaskingState: 'Enabled', exemptPrincipals: bob }
        const put = await masking.putPolicy(db, exempt)
        assert.equal(put.headers.get('x-masquerade-enforcement'), 'Failed', put.text)
        assert.match((await readState()).reason, /public\.of_bob is not masked.+It shows them to PUBLIC/)
        await run('revoke select on public.of_bob from public')
        assert.equal(await mask('guest', 'Default'), 'Enforced')
      },
    )
  })
})
