import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { apiVersion, emailRule, freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { forUsualCluster } from '../../support/postgres.ts'
import { retryUntil, waitUntil } from '../../support/wait-until.ts'

const raw = 'ann@example.com'
const masked = 'aXXX@XXXX.com'

/** For what PostgreSQL does only while nobody is connected to the database. */
async function alone({ sql }: Database, database: string, statement: string): Promise<void> {
  await retryUntil(async () => {
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${database}`
    await sql.unsafe(statement)
  })
}

describe('one database, two resources', () => {
  const masking = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
  const bind = (db: string, binding: object) => masking.send('PUT', db, { properties: { binding } })
  const stateOf = async (db: string) => (await masking.send('GET', `${policyUrl(db)}/enforcement`)).body
  const idOf = async (db: string): Promise<string> => {
    const [row] = await masking.service().database.sql<{ id: string }[]>`
      select id from masked_database where key = ${db.toLowerCase()}`
    return row?.id ?? ''
  }
  const settle = async (db: string) => masking.service().enforcement.settle(await idOf(db))
  const putMail = async (db: string) => {
    const { headers, text } = await masking.putRule(db, 'mail', emailRule)
    return headers.get('x-masquerade-enforcement') ?? text
  }

  forUsualCluster((cluster) => {
    /** A database with one person in it, whom an analyst may read. */
    async function open() {
      const target = await createMaskedDatabase(cluster)
      const analyst = await target.createRole('analyst')
      await target.database.sql.unsafe(`
        create table public.person (id int primary key, email text); insert into public.person values (1, '${raw}');
        grant usage on schema public to public; grant select on public.person to "${analyst}"`)
      const session = target.connectAs('analyst').sql
      const binding = { ...bindingOf(target.url), host: '127.0.0.1' }
      return {
        target,
        binding,
        other: { ...binding, host: 'localhost' },
        seesMasks: async () => {
          await assert.rejects(session`select email from public.person`, /permission denied/)
          const [row] = await session`select email from masked_public.person`
          assert.equal(row?.email, masked)
        },
        seesRaw: async () => assert.equal((await session`select email from public.person`)[0]?.email, raw),
        [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
      }
    }

    clause(
      'ENF-65',
      'One database can be bound once: a second binding to the same host, port and database, or…',
      async () => {
        await using one = await open()
        const [first, second] = [freshDatabase(), freshDatabase()]
        assert.equal((await bind(first, one.other)).status, 201)
        const same = await bind(second, { ...one.other, host: 'LocalHost' })
        assert.equal(same.status, 409, same.text)
        assert.equal(same.body.error.code, 'Conflict')
        assert.ok(same.text.includes(`bound as ${first.toLowerCase()}; one database can be bound once`))
        assert.equal((await masking.send('GET', second)).status, 404, 'nothing is stored')
        assert.equal((await bind(first, one.other)).status, 200, 'it may be bound again as itself')

        assert.equal(await putMail(first), 'Enforced')
        const byAddress = await bind(second, one.binding)
        assert.equal(byAddress.status, 409, byAddress.text)
        assert.ok(byAddress.text.includes(`masked as ${first.toLowerCase()}; one database can be bound once`))
        await one.seesMasks()
        assert.equal((await bind(first, one.binding)).status, 200, 'its own address may change')
        await one.seesMasks()

        await using another = await open()
        const all = [1, 2, 3, 4, 5].map(() => bind(freshDatabase(), another.binding))
        const statuses = (await Promise.all(all)).map(({ status }) => status)
        assert.deepEqual(statuses.sort(), [201, 409, 409, 409, 409])
      },
    )

    clause(
      'MASK-162',
      'The refusal of a second binding to one database (ENF-65) names the resource that is bound to it…',
      async () => {
        await using one = await open()
        const first = freshDatabase()
        assert.equal((await bind(first, one.other)).status, 201)
        const elsewhere = '/subscriptions/theirs/resourceGroups/g/providers/Vendor.Sql/servers/s/databases/d'
        const service = masking.service()
        const stranger = service.tokenFor({ role: 'Contributor', scope: '/subscriptions/theirs' })
        const bindAs = (token: string, binding: object) =>
          service.request('PUT', `${elsewhere}?${apiVersion}`, { token, body: { properties: { binding } } })
        const wrong = await bindAs(stranger, { ...one.other, password: 'not the password' })
        assert.equal(wrong.status, 409, wrong.text)
        assert.match(wrong.text, /bound as another resource, which you may not read; one database/)
        assert.equal(await putMail(first), 'Enforced')
        const right = await bindAs(stranger, one.binding)
        assert.equal(right.status, 409, right.text)
        assert.match(right.text, /masked as another resource, which you may not read; one database/)
        for (const { text } of [wrong, right]) assert.equal(text.toLowerCase().includes('sub-1'), false, text)
        const reader = service.tokenFor({ role: 'Contributor' })
        assert.ok((await bindAs(reader, one.other)).text.includes(` as ${first.toLowerCase()};`))
      },
    )

    clause(
      'ENF-145',
      'Only a binding that has logged in once refuses another one. One that first logs in after its PUT passes its…',
      async () => {
        await using one = await open()
        const squatted =
          '/subscriptions/theirs/resourceGroups/g/providers/Vendor.Sql/servers/s/databases/squat'
        const service = masking.service()
        const token = service.tokenFor({ role: 'Contributor', scope: '/subscriptions/theirs' })
        const squat = (binding: object) =>
          service.request('PUT', `${squatted}?${apiVersion}`, { token, body: { properties: { binding } } })
        const late = await one.target.createRole('late', 'SUPERUSER NOLOGIN')
        const unproven = { ...one.binding, user: late, password: 'secret' }
        const made = await squat(unproven)
        assert.equal(made.status, 201, made.text)
        assert.equal(made.body.properties.connection.state, 'Unreachable')

        const real = freshDatabase()
        const bound = await bind(real, one.binding)
        assert.equal(bound.status, 201, bound.text)
        const again = await squat(unproven)
        assert.equal(again.status, 409, again.text)

        await one.target.database.sql.unsafe(`alter role "${late}" login`)
        const reason = `This database is bound as ${real.toLowerCase()}; one database can be bound once.`
        const { state, reason: said } = await settle(squatted)
        assert.deepEqual([state, said], ['Failed', reason])
        assert.equal(await putMail(squatted), 'Failed')
        await one.seesRaw()
        assert.equal(await putMail(real), 'Enforced')
        await one.seesMasks()
        assert.equal((await settle(squatted)).state, 'Failed')
        await one.seesMasks()

        await masking.putPolicy(real, { dataMaskingState: 'Disabled' })
        assert.equal((await masking.send('DELETE', real)).status, 200)
        assert.equal((await settle(squatted)).state, 'Enforced', 'its turn has come')
        const taken = await bind(real, one.binding)
        assert.equal(taken.status, 409, 'it has logged in and blocks')
      },
    )

    clause(
      'ENF-145',
      'Only a binding that has logged in once refuses another one. One that first logs in after its PUT passes its…',
      async () => {
        const service = masking.service()
        const isReached = async (db: string) =>
          (
            await service.database.sql`
              select from masked_database where key = ${db.toLowerCase()} and binding_reached_at is not null`
          ).length > 0
        /** Binds as a role that may not log in yet, and lets it in after the PUT. */
        const bindLate = async (
          target: Awaited<ReturnType<typeof open>>['target'],
          binding: object,
          attributes = '',
          beforeLogin: (db: string) => Promise<unknown> = async () => {},
        ) => {
          const user = await target.createRole(`late${++late}`, `NOLOGIN ${attributes}`)
          const db = freshDatabase()
          const put = await bind(db, { ...binding, user, password: 'secret' })
          assert.equal(put.body.properties?.connection.state, 'Unreachable', put.text)
          await beforeLogin(db)
          await target.database.sql.unsafe(`alter role "${user}" login`)
          return { db, user }
        }
        let late = 0
        await using one = await open()

        const principalId = await fillDirectory(service).user()
        const mapping = { properties: { principalId, databaseRole: one.target.role('analyst') } }
        const weak = await bindLate(one.target, one.binding, '', (db) =>
          masking.send('PUT', `${db}/roleMappings/m`, mapping),
        )
        const unfit = await settle(weak.db)
        assert.equal(unfit.state, 'Failed')
        assert.match(unfit.reason ?? '', /cannot create .*twins.*GRANT CREATE ON DATABASE/)
        assert.equal(await isReached(weak.db), false)
        await assert.rejects(service.enforcement.prepareLogin(await idOf(weak.db), principalId), /twins/)

        const real = freshDatabase()
        assert.equal((await bind(real, one.binding)).status, 201, "it stands in nobody's way")
        assert.equal(await putMail(real), 'Enforced')
        const strong = await bindLate(one.target, one.other, 'SUPERUSER')
        const reason = `This database is masked as ${real.toLowerCase()}; one database can be bound once.`
        const { state, reason: said } = await settle(strong.db)
        assert.deepEqual([state, said], ['Failed', reason])
        assert.equal(await isReached(strong.db), false)
        await one.seesMasks()

        await using another = await open()
        const fit = await bindLate(another.target, another.binding, 'SUPERUSER')
        assert.equal((await settle(fit.db)).state, 'NoRules')
        assert.equal(await isReached(fit.db), true)
        // Bindings to one database that log in at the same time: one of them counts.
        await using third = await open()
        const rivals = [1, 2, 3].map(() => bindLate(third.target, third.binding, 'SUPERUSER'))
        const dbs = (await Promise.all(rivals)).map(({ db }) => db)
        await Promise.all(dbs.map(settle))
        const reached = await Promise.all(dbs.map(isReached))
        assert.equal(reached.filter(Boolean).length, 1)
      },
    )

    clause(
      'ENF-66',
      'Masks belong to the resource that created them. Another resource bound to the same…',
      async () => {
        await using one = await open()
        const [first, second] = [freshDatabase(), freshDatabase()]
        assert.equal((await bind(first, one.binding)).status, 201)
        assert.equal((await bind(second, one.other)).status, 201, 'nothing tells them apart yet')
        assert.equal(await putMail(first), 'Enforced')
        await one.seesMasks()

        const reason = `This database is masked as ${first.toLowerCase()}; one database can be bound once.`
        const { state, reason: said } = await settle(second)
        assert.deepEqual([state, said], ['Failed', reason])
        await one.seesMasks()
        assert.equal(await putMail(second), 'Failed')
        assert.deepEqual((await stateOf(second)).reason, reason)
        const { body } = await masking.send('GET', `${policyUrl(second)}/enforcement?${apiVersion}&plan=true`)
        assert.deepEqual(body.plan, [])
        assert.equal((await masking.send('GET', `${policyUrl(second)}/exposures`)).status, 503)
        await masking.putPolicy(second, { dataMaskingState: 'Disabled' })
        assert.equal((await stateOf(second)).state, 'Failed')
        await one.seesMasks()
        assert.equal((await settle(first)).state, 'Enforced')

        assert.equal((await masking.send('DELETE', first)).status, 409)
        await masking.putPolicy(first, { dataMaskingState: 'Disabled' })
        await one.seesRaw()
        assert.equal((await masking.send('DELETE', first)).status, 200)
        const { headers } = await masking.putPolicy(second, { dataMaskingState: 'Enabled' })
        assert.equal(headers.get('x-masquerade-enforcement'), 'Enforced')
        await one.seesMasks()
      },
    )

    test('two that put on masks at the same time: one has them, the other fails', async () => {
      await using one = await open()
      const pair = [freshDatabase(), freshDatabase()]
      await Promise.all([bind(pair[0] ?? '', one.binding), bind(pair[1] ?? '', one.other)])
      await Promise.all(pair.map(putMail))
      await waitUntil('one of them has the masks', async () => {
        const states = (await Promise.all(pair.map(settle))).map(({ state }) => state)
        return states.sort().join() === 'Enforced,Failed'
      })
      await one.seesMasks()
    })

    test('masks of a resource that the service does not have are not touched until somebody gives them free', async () => {
      await using one = await open()
      const [first, second] = [freshDatabase(), freshDatabase()]
      await bind(first, one.binding)
      await putMail(first)
      await masking.service().database.sql`delete from masked_database where id = ${await idOf(first)}`
      const refused = await bind(second, one.binding)
      assert.equal(refused.status, 400, refused.text)
      const [detail] = refused.body.error.details
      assert.equal(detail.code, 'MaskedElsewhere')
      await one.seesMasks()
      await one.target.database.sql.unsafe(/Run: (.*);$/.exec(detail.message)?.[1] ?? '')
      const bound = await bind(second, one.binding)
      assert.equal(bound.status, 201, bound.text)
      assert.equal(await putMail(second), 'Enforced')
      await one.seesMasks()
    })

    test('a copy of a masked database is a database of its own', async () => {
      await using one = await open()
      const [first, second] = [freshDatabase(), freshDatabase()]
      await bind(first, one.binding)
      await putMail(first)
      const { database } = one.binding
      const copy = `${database}_copy`
      const admin = openDatabase({ url: one.target.url.replace(/[^/]*$/, 'postgres'), poolSize: 1 })
      const copied = openDatabase({ url: one.target.urlOf('analyst').replace(database, copy), poolSize: 1 })
      try {
        await alone(admin, database, `create database "${copy}" template "${database}"`)
        const bound = await bind(second, { ...one.binding, database: copy })
        assert.equal(bound.status, 201, bound.text)
        assert.match((await stateOf(second)).reason, /copy of a masked one/)
        const seeRaw = () => copied.sql`select email from public.person`
        await assert.rejects(seeRaw(), /permission denied/)
        await putMail(second)
        const { state, reason } = await stateOf(second)
        assert.deepEqual([state, reason], ['Enforced', null])
        await assert.rejects(seeRaw(), /permission denied/)
        const [row] = await copied.sql`select email from masked_public.person`
        assert.equal(row?.email, masked)
        await masking.putPolicy(second, { dataMaskingState: 'Disabled' })
        assert.equal((await seeRaw())[0]?.email, raw)
        assert.equal((await settle(first)).state, 'Enforced')
        await one.seesMasks()
      } finally {
        await copied.close()
        await admin.sql.unsafe(`drop database if exists "${copy}" with (force)`)
        await admin.close()
      }
    })
  })
})
