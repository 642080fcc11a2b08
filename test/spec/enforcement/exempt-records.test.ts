import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { storeEntries } from '../../../src/masking/states/exempt-records.ts'
import { clause } from '../../support/clause.ts'
import { openExemptRecords } from '../../support/exempt-records.ts'
import { createTestDatabase } from '../../support/postgres.ts'

clause(
  'ENF-326',
  'A turn changes no record of an exempt entry that a write of the policy or another turn made.',
  async () => {
    await using store = await createTestDatabase()
    const { sql } = store.database
    const id = randomUUID()
    await sql`
      insert into masked_database (id, tenant_id, key, subscription_id, resource_group, server_name, name, location)
      values (${id}, ${randomUUID()}, 'k', 's', 'g', 'v', 'd', 'local')`
    const known = openExemptRecords(sql, id)
    const write = (place: string, oid: number | null) => known.write(place, [{ entry: 'lea', oid }])
    const record = (changed: string[], named: string[]) =>
      store.database.transaction((tx) => storeEntries(tx, id, { changed, named }))
    await record(['lea'], ['lea'])
    assert.deepEqual(await write('1/2', 5), [{ entry: 'lea', oid: null }], 'it names an object')
    await record(['lea'], [])
    assert.deepEqual(await write('1/2', 5), [{ entry: 'lea', oid: 5 }])
    assert.deepEqual(await write('1/3', 6), [{ entry: 'lea', oid: 5 }])
    assert.deepEqual(await write('2/2', 6), [{ entry: 'lea', oid: 6 }], 'another server')
    assert.deepEqual(await known.read(), [{ entry: 'lea', place: '2/2', oid: 6 }])
  },
)
