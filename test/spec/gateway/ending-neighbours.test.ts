import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import { createNeighbourFinder } from '../../../src/enforcement/logins/find-neighbours.ts'
import { writeMark } from '../../../src/enforcement/logins/mark.ts'
import { clause } from '../../support/clause.ts'
import { besideDelayed, openDelayed } from '../../support/delayed-session.ts'
import { createTestLogins, testKeys } from '../../support/logins.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

/** A login role of one database with sessions in another one of the server. */
forEachCluster((cluster) => {
  describe('neighbours whose sessions have not ended', () => {
    let [shop, clinic]: Target[] = []
    let directory: ReturnType<typeof createTestLogins>
    const run = async (text: string) => (await shop?.database.sql.unsafe(text)) ?? []

    before(async () => {
      shop = await createMaskedDatabase(cluster)
      clinic = await createMaskedDatabase(cluster)
      directory = createTestLogins(shop.database)
    })
    after(async () => {
      directory.clear()
      await directory.settle()
      await shop?.[Symbol.asyncDispose]()
      await clinic?.[Symbol.asyncDispose]()
    })

    clause(
      'GATE-323',
      'A role does not become exempt while a login role of another database, whose sessions are to end as it lost something…',
      async () => {
        if (!shop || !clinic) assert.fail()
        const doctors = await shop.createRole('doctors', 'NOLOGIN')
        const [{ oid: holds } = {}] = await run(
          `select oid::int8 as oid from pg_roles where rolname = '${doctors}'`,
        )
        const find = createNeighbourFinder(randomUUID(), testKeys)
        const { sql } = clinic.database
        const found = () => find(sql, [holds])
        const ana = directory.add('ana@contoso.com', [doctors])
        const outcome = await directory.prepare(ana)
        if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
        const { role, oid, password } = outcome.login
        const { databaseId } = directory
        const expected = [{ databaseId, holds, login: oid }]
        assert.deepEqual(await found(), expected, 'a member')
        const url = new URL(clinic.url)
        url.username = encodeURIComponent(role)
        url.password = encodeURIComponent(password)
        const session = openDatabase({ url: url.href, poolSize: 1 })
        await session.sql.unsafe(`set role "${doctors}"`)
        await using delayed = await openDelayed(clinic.database, url.href, `-W 30 -c role=${doctors}`)

        // The node that revoked the role has not ended the sessions yet.
        const mark = (ending: boolean, left?: null) =>
          run(
            `comment on role "${role}" is '${writeMark({ databaseId, principalId: ana, ending, left }, oid, testKeys.sign)}'`,
          )
        await run(`revoke "${doctors}" from "${role}"`)
        await mark(true)
        assert.deepEqual(await found(), expected, 'with sessions')
        await run(`select pg_terminate_backend(${delayed.pid})`)
        await waitUntil('the delayed session ends', async () => !(await delayed.isStarting()))
        assert.deepEqual(await found(), expected, 'with a session that shows its role')
        await session.close()
        await waitUntil('the other session ends', async () => (await found()).length === 0)
        await mark(true, null)
        assert.deepEqual(await found(), expected, 'its sessions at standbys are not known here')
        await mark(true)
        await clinic.createRole('stranger')
        const { database } = clinic
        const stranger = clinic.urlOf('stranger')
        const delay = () => openDelayed(database, stranger, '-W 30')
        assert.deepEqual(await besideDelayed(delay, found), expected, 'one that may be of the login role')
        await mark(false)
        assert.deepEqual(await besideDelayed(delay, found), [], 'the sessions were ended')
      },
    )

    clause(
      'ENF-462',
      'A session that PostgreSQL is starting keeps no role from becoming exempt where it has started, or is gone, within 300…',
      async () => {
        if (!shop || !clinic) assert.fail()
        const here = clinic
        const names = await Promise.all(['nurses', 'porters'].map((one) => here.createRole(one, 'NOLOGIN')))
        const rows = await run(
          `select oid::int8 as oid from pg_roles where rolname in (${names.map((one) => `'${one}'`)}) order by 1`,
        )
        const roles = rows.map(({ oid }) => oid as number)
        const find = createNeighbourFinder(randomUUID(), testKeys)
        const { databaseId } = directory
        const logins = []
        for (const name of ['bo@contoso.com', 'cy@contoso.com']) {
          const principalId = directory.add(name, [names[0] ?? ''])
          const outcome = await directory.prepare(principalId)
          if (outcome.kind !== 'ready') assert.fail(JSON.stringify(outcome))
          const { role, oid, password } = outcome.login
          await run(`revoke "${names[0]}" from "${role}"`)
          const mark = writeMark({ databaseId, principalId, ending: true }, oid, testKeys.sign)
          await run(`comment on role "${role}" is '${mark}'`)
          const url = new URL(here.url)
          url.username = encodeURIComponent(role)
          url.password = encodeURIComponent(password)
          logins.push({ oid, url: url.href })
        }
        const [bo, cy] = logins
        if (!bo || !cy) assert.fail()
        await here.createRole('visitor')
        await using delayed = await openDelayed(here.database, here.urlOf('visitor'), '-W 30')
        const finding = find(here.database.sql, roles).then((found) => found)
        await run(`select pg_sleep(0.1), pg_terminate_backend(${delayed.pid})`)
        assert.deepEqual(await finding, [], 'it was of another role, and is gone')

        // A transaction sees sessions as they were when it first looked at them.
        const sessions: Database[] = []
        await here.database.transaction(async (tx) => {
          await tx`select count(*) from pg_stat_activity`
          for (const { url } of [bo, cy]) {
            const session = openDatabase({ url, poolSize: 1 })
            sessions.push(session)
            await session.sql`select 1`
          }
          const found = await find(tx, roles)
          assert.deepEqual(
            found.map(({ databaseId: id, holds }) => [id, holds]),
            roles.map((one) => [databaseId, one]),
            'each role with each database once',
          )
        })
        for (const session of sessions) await session.close()
      },
    )
  })
})
