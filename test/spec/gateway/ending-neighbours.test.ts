import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { createNeighbourFinder } from '../../../src/logins/find-neighbours.ts'
import { writeMark } from '../../../src/logins/mark.ts'
import { clause } from '../../support/clause.ts'
import { openDelayed } from '../../support/delayed-session.ts'
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
      'GATE-329',
      'A role becomes exempt only when the sessions of login roles of other databases that lost something have ended, at…',
      async () => {
        if (!shop || !clinic) assert.fail()
        const doctors = await shop.createRole('doctors', 'NOLOGIN')
        const [{ oid: holds } = {}] = await run(
          `select oid::int8 as oid from pg_roles where rolname = '${doctors}'`,
        )
        const find = createNeighbourFinder(randomUUID(), testKeys)
        const { sql } = clinic.database
        // Other tests have login roles at this server.
        const found = async () =>
          (await find(sql, [holds])).filter((one) => one.databaseId === directory.databaseId)
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
        await session.close()
        assert.deepEqual(await found(), expected, 'with a session that may be of the login role')
        await run(`select pg_terminate_backend(${delayed.pid})`)
        await waitUntil('its sessions end', async () => (await found()).length === 0)
        await mark(true, null)
        assert.deepEqual(await found(), expected, 'its sessions at standbys too')
        await mark(false)
        assert.deepEqual(await found(), [], 'the sessions were ended')
      },
    )
  })
})
