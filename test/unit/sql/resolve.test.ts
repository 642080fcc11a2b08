import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { statementLimits } from '../../../src/sql/limits.ts'
import { findNameEnd } from '../../../src/sql/name-end.ts'
import { parseStatements } from '../../../src/sql/parse.ts'
import { SqlRefusal } from '../../../src/sql/refusal.ts'
import { resolveReferences } from '../../../src/sql/resolve.ts'
import { runs } from '../../support/runs.ts'
import { statement } from './sql-grammar.ts'

const catalog = {
  locate: ({ relname }: { relname: string }) =>
    relname === 'customers' ? { schema: 'public', columns: ['id', 'name', 'email', 'phone'] } : {},
}

function resolve(text: string) {
  return parseStatements(text, statementLimits).map((each) => resolveReferences(each, catalog))
}

function resolveIfSql(text: string) {
  try {
    return resolve(text)
  } catch (error) {
    if (error instanceof SqlRefusal && error.reason === 'NotSql') return []
    throw error
  }
}

describe('references', () => {
  const uses: Record<string, string> = {
    'select 1 from a, b.c': 'read a, read c',
    'insert into a select 1 from b': 'insert a, read b',
    'update a set x = 1 from b where exists (select from c)': 'target a, read b, read c',
    'delete from a using b': 'target a, read b',
    'merge into a using b on true when matched then delete': 'target a, read b',
    'truncate a, b': 'truncate a, truncate b',
    'copy a to stdout': 'copyTo a',
    'copy a from stdin': 'copyFrom a',
    'lock a in access share mode; lock b': 'lockToRead a, lock b',
    'create table a (like b)': 'like b',
    'create index on a (x)': 'other a',
    'with a as (select 1 from b) select 1 from a': 'read b',
    'grant select on a to b': '',
  }
  for (const [text, expected] of Object.entries(uses))
    test(text, () => {
      const relations = resolve(text).flatMap((each) => each.relations)
      assert.equal(relations.map(({ use, range }) => `${use} ${range.relname}`).join(', '), expected)
    })

  test('columns lead to their relations', () => {
    const reads = (text: string) =>
      resolve(text)
        .flatMap((each) => each.reads)
        .map(({ relation, column = '*' }) => `${relation.range.relname}.${column}`)
        .join(', ')
    assert.equal(reads('select email, c.phone from customers c'), 'customers.email, customers.phone')
    assert.equal(reads('select * from customers'), 'customers.*')
    assert.equal(reads('select e from customers as c (a, b, e)'), 'customers.email')
    assert.equal(reads('select (select email) from customers'), 'customers.email')
    assert.equal(reads('select x.id from customers, x'), 'x.*')
  })

  test('every place is that of the name', () => {
    let names = 0
    fc.assert(
      fc.property(statement, fc.constantFrom('', 'é', '/* 😀 */'), (text, before) => {
        const bytes = Buffer.from(`${before === 'é' ? "select 'é'; " : before}${text}`)
        const units = bytes.toString('latin1')
        for (const { relations, columns } of resolveIfSql(bytes.toString())) {
          for (const { at, parts, range } of relations) {
            const written = units.slice(at, findNameEnd(units, at, parts))
            assert.equal(written, [range.schemaname, range.relname].filter(Boolean).join('.'))
            names++
          }
          for (const { at, path } of columns.filter((column) => column.path.length > 0))
            assert.equal(units.slice(at, findNameEnd(units, at, path.length)), path.join('.'))
        }
      }),
      { numRuns: runs(300) },
    )
    assert.ok(names > 500, `${names} names`)
  })
})
