import assert from 'node:assert/strict'
import type { Outcome } from '../../../src/enforcement/in-turn.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { BlockerWatch } from '../../../src/enforcement/sessions/blockers.ts'
import type { Unfinished } from '../../../src/enforcement/unfinished.ts'
import { sqlstate } from '../../../src/kernel/sqlstate.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'

const limitMs = 300

clause(
  'ENF-297',
  'The time of a session or relation begins anew when everything could be enforced meanwhile, and does not run for…',
  async () => {
    await using target = await createMaskedDatabase()
    const { sql } = target.database
    const clerk = await target.createRole('clerk')
    await sql.unsafe(`create table people (id int, mail text); grant all on people to "${clerk}"`)
    const outcome: Outcome = await reconcile(target.database, policy([rule('public.people.mail')]))
    const [people] = await sql<{ oid: number }[]>`select 'people'::regclass::int8 as oid`
    const oid = Number(people?.oid)
    const unfinished: Unfinished = {
      target: '"public"."people"',
      oids: [oid],
      sqlstate: sqlstate.lockNotAvailable,
      reason: '',
      blockers: [],
      isClosed: false,
    }
    const watch = new BlockerWatch(limitMs)
    const clear = (left: readonly Unfinished[]) => watch.clear(sql, 'one', outcome, left)
    const wait = () => sql`select pg_sleep(${(2 * limitMs) / 1000})`
    const hold = (database: typeof target.database, work: () => Promise<void>) =>
      database.transaction(async (tx) => {
        await tx`lock table public.people in access exclusive mode`
        await work()
      })
    const masked = target.connectAs('clerk')
    await hold(masked, async () => {
      const { dueMs, ended } = await clear([unfinished])
      assert.ok(dueMs !== null && dueMs > 0 && ended === 0)
    })
    await clear([])
    await wait()
    await hold(masked, async () => {
      assert.equal((await clear([unfinished])).ended, 0)
      assert.equal(watch.listOverdue('one').size, 0)
    })
    await clear([])
    // A superuser's session is never ended: nothing is due, and nothing is insisted on.
    await target.createRole('boss', 'SUPERUSER LOGIN')
    await hold(target.connectAs('boss'), async () => {
      assert.deepEqual((await clear([unfinished])).dueMs, null)
      await wait()
      assert.deepEqual((await clear([unfinished])).dueMs, null)
      assert.equal(watch.listOverdue('one').size, 0)
    })
  },
)
