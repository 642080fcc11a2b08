import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../src/db/database.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { allowNestedUse } from '../../support/refuse-nested-use.ts'

test('in tests a transaction of the service gets no second connection of its pool', async () => {
  await using testing = await createTestDatabase()
  const database = openDatabase({ url: testing.url })
  try {
    const refused = /asks its own pool/
    await assert.rejects(
      database.transaction(() => database.sql`select 1`),
      refused,
    )
    await assert.rejects(
      database.transaction(() => database.transaction(async (tx) => tx`select 1`)),
      refused,
    )
    await database.transaction(() => database.aside`select 1`)
    await allowNestedUse(database).transaction(() => database.sql`select 1`)
    const later = await database.transaction(async () => ({ ask: async () => database.sql`select 1` }))
    assert.equal((await later.ask()).count, 1)
  } finally {
    await database.close()
  }
})
