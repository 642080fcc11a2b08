import assert from 'node:assert/strict'
import { guardSchema } from '../../../src/enforcement/names.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { findBlockers } from '../../../src/enforcement/sessions/blockers.ts'
import { ReleaseWatch } from '../../../src/enforcement/sessions/release-watch.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { holdsFor, waitUntil } from '../../support/wait-until.ts'

clause('ENF-118', 'What waits for a lock is tried again within a second of its release.', async () => {
  await using target = await createMaskedDatabase()
  const { sql } = target.database
  await sql`create table people (mail text)`
  await reconcile(target.database, policy([rule('public.people.mail')]))
  const [table] = await sql<{ oid: number }[]>`select 'people'::regclass::oid::int8 as oid`
  const waits = {
    target: 'people',
    oids: [table?.oid ?? 0],
    sqlstate: '55P03',
    reason: '',
    blockers: [],
    isClosed: false,
  }
  const released: string[] = []
  const watch = new ReleaseWatch((databaseId) => released.push(databaseId))
  await target.createRole('clerk')
  await sql.unsafe(`grant update on people to "${target.role('clerk')}"`)
  await target.connectAs('clerk').transaction(async (tx) => {
    await tx`lock table people in access exclusive mode`
    watch.expect('held', async () => (await findBlockers(sql, guardSchema, [waits])).length > 0)
    await holdsFor(1200, 'the lock is held', () => released.length === 0)
  })
  await waitUntil('it is noticed', () => released.length > 0)
  assert.deepEqual(released, ['held'])
  watch.close()
})
