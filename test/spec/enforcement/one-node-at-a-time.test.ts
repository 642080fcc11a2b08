import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { type Database, openDatabase } from '../../../src/db/database.ts'
import type { Policy } from '../../../src/masks/policy.ts'
import { type TurnOptions, takeTurn } from '../../../src/masks/turn.ts'
import { TurnUnderWay } from '../../../src/masks/unfit.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { promised, waitUntil } from '../../support/wait-until.ts'

const [mail, pay] = [rule('public.t.mail'), rule('public.t.pay')]

describe('two nodes that change one masked database', () => {
  clause(
    'ENF-210',
    'One node at a time changes a masked database, by a lock in it under which it reads the policy. A node…',
    async () => {
      const play = async (before: Policy) => {
        await using target = await createMaskedDatabase()
        const { database } = target
        await database.sql`create table public.t (id int, mail text, pay int)`
        await takeTurn(database, before)
        const paused = openDatabase({ url: target.url, searchPath: 'public', applicationName: 'paused' })
        let stored = policy([mail, pay])
        const turn = (node: Database, options: TurnOptions = {}) =>
          takeTurn(node, async () => stored, options).catch((error: Error) => error)
        const isOver = async () => {
          const rows = await database.sql`
            select from pg_stat_activity where application_name = 'paused' and datname = current_database() and xact_start is not null`
          return rows.length === 0
        }
        let later: ReturnType<typeof turn> | undefined
        let at = 0
        const first = await turn(paused, {
          async beforeStep() {
            if (at++ !== 2) return
            stored = policy([])
            later ??= turn(database)
            await waitUntil('PostgreSQL ends the idle turn', isOver)
          },
        })
        assert.ok(first instanceof Error)
        assert.ok(!((await later) instanceof Error))
        await paused.close()
        assert.deepEqual(await listMasked(database), [])
      }
      // Without records there is nothing yet that a lock could be taken on.
      await Promise.all([play(policy([])), play(policy([mail]))])
    },
  )

  clause(
    'ENF-210',
    'One node at a time changes a masked database, by a lock in it under which it reads the policy. A node…',
    async () => {
      await using other = await createMaskedDatabase()
      const { database } = other
      await database.sql`create table public.t (id int, mail text, pay int)`
      await takeTurn(database, policy([mail]))
      const order: string[] = []
      const { promise: isGiven, resolve: give } = Promise.withResolvers<void>()
      const { promise: isBegun, resolve: begin } = Promise.withResolvers<void>()
      const first = takeTurn(database, policy([pay]), {
        async beforeStep() {
          begin()
          await isGiven
        },
      })
      const readNext = async () => {
        order.push('the second reads the policy')
        return policy([])
      }
      const waits = async () => {
        const rows = await database.sql`
          select 1 from pg_locks where not granted and mode = 'ShareRowExclusiveLock'
            and database = (select oid from pg_database where datname = current_database())`
        return rows.length > 0
      }
      await isBegun
      const second = takeTurn(database, readNext)
      await waitUntil('the second turn waits', waits)
      assert.equal(order.length, 0)
      order.push('the first turn goes on')
      give()
      await Promise.all([first, second])
      assert.deepEqual(order, ['the first turn goes on', 'the second reads the policy'])
      assert.deepEqual(await listMasked(database), [])
    },
  )

  clause(
    'ENF-218',
    'A change of a rule takes at most 30 round trips in all, of the node to the…',
    async () => {
      await using other = await createMaskedDatabase()
      const { database } = other
      await database.sql`create table public.t (id int, mail text)`
      await takeTurn(database, policy([mail]))
      await database.transaction(async (tx) => {
        await tx`lock table masquerade_guard.relation in share row exclusive mode`
        const from = performance.now()
        await assert.rejects(takeTurn(database, policy([])), TurnUnderWay)
        const ms = performance.now() - from
        assert.ok(ms > 4_000 && ms < promised(9_000), `${ms} ms`)
      })
    },
  )
})

async function listMasked({ sql }: Database): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select viewname::text as name from pg_views where schemaname = 'masked_public'`
  return rows.map(({ name }) => name)
}
