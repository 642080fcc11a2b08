import assert from 'node:assert/strict'
import { SessionsInTheWay } from '../../../src/sessions/in-the-way.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

clause('ENF-118', 'What waits for a lock is tried again within a second of its release.', async () => {
  await using target = await createMaskedDatabase()
  const { sql } = target.database
  const clerk = await target.createRole('clerk')
  await sql.unsafe(`create table people (mail text); grant update on people to "${clerk}"`)
  const [table] = await sql<{ oid: number }[]>`select 'people'::regclass::oid::int8 as oid`
  const released: string[] = []
  const inTheWay = new SessionsInTheWay(60_000, (databaseId) => released.push(databaseId))
  const waiting = [{ target: 'people', oids: [table?.oid ?? 0], holders: [], isClosed: false }]
  await target.connectAs('clerk').transaction(async (tx) => {
    await tx`lock table people in access exclusive mode`
    await inTheWay.clear('held', { sql, exempt: [], waiting })
    await holdsFor(1200, 'the lock is held', () => released.length === 0)
  })
  await waitUntil('it is noticed', () => released.length > 0, { withinMs: 1_000 })
  assert.deepEqual(released, ['held'])
  inTheWay.close()
})
