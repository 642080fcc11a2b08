import assert from 'node:assert/strict'
import {
  describeBlocker,
  findLockHolders,
  SessionsInTheWay,
} from '../../../src/masks/control/sessions/in-the-way.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'
import { waitUntil } from '../../support/wait-until.ts'

clause(
  'ENF-143',
  'Where the server has no lock left, the state names the sessions with more than their share of them. Those of masked…',
  async () => {
    await using target = await createMaskedDatabase()
    const { sql } = target.database
    const [clerk, auditor] = [await target.createRole('clerk'), await target.createRole('auditor')]
    const takeLocks = async (name: string) => {
      const session = target.connectAs(name)
      const [row] = await session.sql<{ pid: number }[]>`
        select pg_backend_pid() as pid, count(pg_advisory_lock(pg_backend_pid(), n)) from generate_series(1, 200) n`
      return Number(row?.pid)
    }
    const [masked, exempt] = [await takeLocks('clerk'), await takeLocks('auditor')]
    const isThere = async (pid: number) =>
      (await sql`select from pg_stat_activity where pid = ${pid}`).length > 0
    const clear = async (limitMs: number) => {
      const inTheWay = new SessionsInTheWay(limitMs, () => {})
      const waiting = [{ target: '', oids: [], holders: await findLockHolders(sql), isClosed: false }]
      const cleared = await inTheWay.clear('one', { sql, exempt: [auditor], waiting })
      inTheWay.close()
      return cleared
    }
    const { blockers, ended } = await clear(60_000)
    assert.equal(ended, 0)
    assert.deepEqual(
      blockers.map(describeBlocker).sort(),
      [
        `session ${exempt} of role "${auditor}" (masquerade)`,
        `session ${masked} of role "${clerk}" (masquerade)`,
      ].sort(),
    )
    assert.equal((await clear(0)).ended, 1)
    await waitUntil('it ends', async () => !(await isThere(masked)))
    assert.ok(await isThere(exempt))
  },
)
