import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { createSqlGraph } from '../../../src/directory/membership/sql-graph.ts'
import { readLoginRights } from '../../../src/directory/principals/login-rights.ts'
import { fillDirectory } from '../../support/directory.ts'
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts'
import { runs } from '../../support/runs.ts'

const people = 3
const groups = 4
const roles = ['readers', 'writers', 'others']

/** A small directory: who is in which group, which groups are in which, what is deleted, and what is mapped to whom. */
const world = fc.record({
  joins: fc.array(fc.tuple(fc.nat(people + groups - 1), fc.nat(groups - 1)), { maxLength: 12 }),
  deleted: fc.array(fc.nat(people + groups - 1), { maxLength: 2 }),
  disabled: fc.array(fc.nat(people - 1), { maxLength: 1 }),
  mappings: fc.array(fc.tuple(fc.constantFrom(...roles), fc.nat(people + groups - 1)), { maxLength: 6 }),
})

let store: TestDatabase
before(async () => {
  store = await createTestDatabase()
})
after(() => store[Symbol.asyncDispose]())

test('rights are those of the person and of every group that leads to it, whichever way they are looked for', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ joins, deleted, disabled, mappings }) => {
      const { sql } = store.database
      const tenantId = randomUUID()
      const directory = fillDirectory({ database: store.database, tenantId })
      const ids: string[] = []
      for (let at = 0; at < people; at++) ids.push(await directory.user(`u${at}-${tenantId}`))
      for (let at = 0; at < groups; at++) ids.push(await directory.group())
      const edges = new Set(
        joins.filter(([member, group]) => member !== people + group).map((edge) => edge.join(' ')),
      )
      const pairs = [...edges].map((edge) => edge.split(' ').map(Number) as [number, number])
      for (const [member, group] of pairs) await directory.join(ids[member] ?? '', ids[people + group] ?? '')
      for (const at of deleted) await directory.softDelete(ids[at] ?? '')
      for (const at of disabled)
        await sql`update directory_object set properties = properties || '{"accountEnabled": false}'
          where id = ${ids[at] ?? ''}`

      const leadsTo = (from: number, seen = new Set<number>()): Set<number> => {
        for (const [member, group] of pairs) {
          const container = people + group
          if (member !== from || seen.has(container) || deleted.includes(container)) continue
          seen.add(container)
          leadsTo(container, seen)
        }
        return seen
      }
      const expected = (at: number) => {
        if (deleted.includes(at) || disabled.includes(at)) return []
        const counts = leadsTo(at).add(at)
        return [...new Set(mappings.filter(([, to]) => counts.has(to)).map(([role]) => role))].sort()
      }
      const mapped = mappings.map(([databaseRole, to]) => ({ databaseRole, principalId: ids[to] ?? '' }))
      const graph = createSqlGraph(sql)
      const everybody = await readLoginRights(sql, graph, tenantId, mapped, ids)
      for (let at = 0; at < people; at++) {
        const id = ids[at] ?? ''
        const alone = await readLoginRights(sql, graph, tenantId, mapped, [id])
        assert.deepEqual(alone[0]?.roles ?? [], expected(at))
        assert.deepEqual(everybody.find(({ principalId }) => principalId === id)?.roles ?? [], expected(at))
        assert.deepEqual(await readLoginRights(sql, graph, randomUUID(), mapped, [id]), [])
      }
      assert.ok(everybody.every(({ principalId }) => ids.indexOf(principalId) < people))
    }),
    { numRuns: runs(60) },
  )
})
