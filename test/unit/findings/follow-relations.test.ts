import assert from 'node:assert/strict'
import type { Sql } from '../../../src/db/sql.ts'
import { followRelations, type Source } from '../../../src/findings/per-role/follow-relations.ts'
import { clause } from '../../support/clause.ts'

const enough = 20_000

/** A server that answers each question about relations with these views over them. */
function answering(answer: (first: number) => object[]) {
  let asked = 0
  const sql = async (_: TemplateStringsArray, oids: readonly number[]) => {
    if (++asked > enough) throw new Error('the server was asked for ever')
    return answer(oids[0] ?? 0)
  }
  return sql as unknown as Sql
}

const view = (on: number, oid: number) => ({ kind: 'view', object: null, on, oid, numbers: [1] })
const sourcesOf = (columns: number): Source[] =>
  Array.from({ length: columns }, (_, at) => ({
    oid: 1,
    base: null,
    number: 1,
    attribute: 'c',
    column: `public.t.c${at}`,
  }))

clause(
  'GATE-285',
  'What a bound server says about views, rules, policies and keys over masked tables is followed through…',
  async (t) => {
    const follow = (sql: Sql, columns = 1) => followRelations(sql, sourcesOf(columns), new Map())
    const refused = { code: 'EANSWER' }
    await t.test('a chain without an end', async () => {
      await assert.rejects(follow(answering((oid) => [view(oid + 1, oid)])), refused)
    })
    await t.test('very many views at once', async () => {
      const views = Array.from({ length: 100_001 }, (_, at) => view(at + 2, 1))
      await assert.rejects(follow(answering((oid) => (oid === 1 ? views : []))), refused)
    })
    await t.test('very many columns of many views', async () => {
      const views = Array.from({ length: 30 }, (_, at) => view(at + 2, 1))
      await assert.rejects(
        follow(
          answering((oid) => (oid === 1 ? views : [])),
          100_000,
        ),
        refused,
      )
    })
    await t.test('many views, deep and wide', async () => {
      const views = (oid: number) => (oid < 1_000 ? [view(oid + 1, oid), view(oid + 5_000, oid)] : [])
      const { reached } = await follow(answering(views), 10)
      assert.equal(reached.size, 999 * 2)
    })
  },
)
