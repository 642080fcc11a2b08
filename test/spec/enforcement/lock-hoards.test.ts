import assert from 'node:assert/strict'
import { LockHoards } from '../../../src/enforcement/sessions/lock-hoards.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { waitUntil } from '../../support/wait-until.ts'

clause(
  'ENF-143',
  'A session that holds so many locks that the server has none left is named in the state. One of a masked role is…',
  async () => {
    await using target = await createMaskedDatabase()
    const { sql } = target.database
    const [clerk, auditor] = [await target.createRole('clerk'), await target.createRole('auditor')]
    const hoard = async (name: string, most = 1001) => {
      const session = target.connectAs(name)
      const [row] = await session.sql<{ pid: number }[]>`
        select pg_backend_pid() as pid, count(pg_advisory_lock(pg_backend_pid(), n)) from generate_series(1, ${most}::int4) n`
      return Number(row?.pid)
    }
    const [masked, exempt] = [await hoard('clerk'), await hoard('auditor')]
    const isThere = async (pid: number) =>
      (await sql`select from pg_stat_activity where pid = ${pid}`).length > 0
    const patient = new LockHoards(60_000)
    const { reason, dueMs } = await patient.clear(sql, 'one', [auditor])
    assert.ok(reason.includes(`session ${masked} of role "${clerk}" holds 100`), reason)
    assert.ok(reason.includes(`SELECT pg_terminate_backend(${masked})`), reason)
    assert.ok(reason.includes(`session ${exempt} of role "${auditor}" holds 100`), reason)
    assert.ok(dueMs !== null && dueMs > 50_000)
    const impatient = new LockHoards(0)
    assert.equal((await impatient.clear(sql, 'one', [auditor])).dueMs, 0)
    await waitUntil('it ends', async () => !(await isThere(masked)))
    assert.ok(await isThere(exempt))
    // Beside the locks of an exempt role those of others are few: they are not to blame.
    const strict = new LockHoards(300)
    const share = await hoard('clerk', 200)
    const beside = await strict.clear(sql, 'one', [auditor])
    assert.equal(beside.dueMs, null)
    assert.ok(!beside.reason.includes(`session ${share} `), beside.reason)
    await sql`select pg_terminate_backend(${exempt})`
    await waitUntil('the exempt one ends', async () => !(await isThere(exempt)))
    // Many sessions may share the hoard, and take turns: the time counts for all of them.
    const first = await strict.clear(sql, 'one', [auditor])
    assert.ok(first.dueMs !== null && first.dueMs > 0, first.reason)
    assert.ok(first.reason.includes(`session ${share} of role "${clerk}" holds 200`), first.reason)
    await sql`select pg_terminate_backend(${share}), pg_sleep(0.4)`
    const next = await hoard('clerk', 200)
    assert.equal((await strict.clear(sql, 'one', [auditor])).dueMs, 0)
    await waitUntil('the next one ends', async () => !(await isThere(next)))
    strict.forget('one')
    await hoard('clerk', 200)
    assert.notEqual((await strict.clear(sql, 'one', [auditor])).dueMs, 0)
  },
)
