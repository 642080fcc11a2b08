import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDatabaseUrl } from '../../../src/db/database-url.ts'
import { SteadyConnection } from '../../../src/db/steady-connection.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

test('the late end of a lost connection leaves the next one open, and closing ends it', async () => {
  await using place = await createTestDatabase()
  const { sql } = place.database
  const connection = new SteadyConnection(parseDatabaseUrl(place.url), 'steady')
  const ask = (text: string) => connection.query(text, text, [])
  const countBackends = async () =>
    (await sql`select pid from pg_stat_activity where application_name = 'steady'`).length

  for (let round = 1; round <= 10; round++) {
    await ask('select 1')
    const lost = assert.rejects(ask('select pg_sleep(60)'))
    await waitUntil('the connection is busy', async () => {
      const busy =
        await sql`select pid from pg_stat_activity where application_name = 'steady' and state = 'active'`
      return busy.length === 1
    })
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'steady'`
    // Asked at once, so that the next connection is opened before the lost one has ended.
    await lost
    await ask('select 1')
    assert.equal(connection.session, round + 1)
    await waitUntil('one connection is left', async () => (await countBackends()) === 1)
  }
  await connection.close()
  await waitUntil('no connection is left', async () => (await countBackends()) === 0)
  await assert.rejects(ask('select 1'))
})
