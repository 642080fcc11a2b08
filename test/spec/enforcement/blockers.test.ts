import assert from 'node:assert/strict'
import { SessionsInTheWay } from '../../../src/sessions/in-the-way.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase } from '../../support/masked-database.ts'

const limitMs = 60_000

clause(
  'ENF-296',
  'Sessions of masked roles that take turns at holding a lock keep no raw value readable for longer than…',
  async (t) => {
    await using target = await createMaskedDatabase()
    const { sql } = target.database
    const clerk = await target.createRole('clerk')
    await sql.unsafe(`create table people (id int, mail text); grant all on people to "${clerk}"`)
    const [people] = await sql<{ oid: number }[]>`select 'people'::regclass::int8 as oid`
    const oid = Number(people?.oid)
    const waiting1 = { target: '"public"."people"', oids: [oid], holders: [], isClosed: false }
    const inTheWay = new SessionsInTheWay(limitMs, () => {})
    const clear = (waiting: (typeof waiting1)[], since = Date.now()) =>
      inTheWay.clear('one', { sql, exempt: [], waiting, since })
    const isOverdue = () => inTheWay.listOverdue('one').has(oid)
    let now = Date.now()
    t.mock.method(Date, 'now', () => now)
    const wait = () => {
      now += limitMs
    }
    const hold = async (database: typeof target.database, work: () => Promise<void>) =>
      database.transaction(async (tx) => {
        await tx`lock table public.people in access exclusive mode`
        await work()
      })
    const masked = target.connectAs('clerk')
    await hold(masked, async () => assert.equal((await clear([waiting1])).ended, 0))
    await clear([])
    wait()
    await hold(masked, async () => {
      assert.equal((await clear([waiting1])).ended, 0)
      assert.equal(isOverdue(), false)
    })
    await clear([])
    // A superuser's session is never ended: nothing is due, and nothing is insisted on.
    await target.createRole('boss', 'SUPERUSER LOGIN')
    await hold(target.connectAs('boss'), async () => {
      for (const round of [1, 2]) {
        const { blockers, ended } = await clear([waiting1])
        assert.deepEqual([blockers.length, ended, isOverdue()], [1, 0, false], `round ${round}`)
        wait()
      }
    })
    await clear([])
    // The turn has waited itself before it found out.
    const waited = hold(masked, async () => {
      assert.equal((await clear([waiting1], Date.now() - limitMs)).ended, 1)
    })
    await assert.rejects(waited)
    await clear([])
    const held = hold(masked, async () => {
      await clear([waiting1])
      wait()
      assert.equal((await clear([waiting1])).ended, 1)
    })
    await assert.rejects(held)
    inTheWay.close()
  },
)
