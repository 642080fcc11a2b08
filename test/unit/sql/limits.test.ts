import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { moveRelations } from '../../../src/masks/plan/move-relations.ts'
import { Effort } from '../../../src/sql/effort.ts'
import { type Limits, statementLimits, viewLimits } from '../../../src/sql/limits.ts'
import { parseStatements } from '../../../src/sql/parse.ts'
import { SteadyParser } from '../../../src/sql/parser-instance.ts'
import { SqlRefusal } from '../../../src/sql/refusal.ts'
import { resolveReferences } from '../../../src/sql/resolve.ts'
import { runs } from '../../support/runs.ts'
import { anyText, bomb } from './sql-grammar.ts'

const noCatalog = { locate: () => ({}) }
const reasons = new Set(['TooLong', 'TooDeep', 'TooManyNodes', 'TooManySteps', 'NotSql'])

/** How many statements were resolved; undefined: the room refused the text. */
function read(text: string, limits: Limits): number | undefined {
  try {
    const statements = parseStatements(text, limits)
    const effort = new Effort(limits)
    for (const statement of statements) resolveReferences(statement, noCatalog, effort)
    assert.ok(Buffer.byteLength(text) <= limits.bytes)
    assert.ok(countNodes(statements) <= limits.nodes)
    return statements.length
  } catch (error) {
    assert.ok(error instanceof SqlRefusal, String(error))
    assert.ok(reasons.has(error.reason), error.reason)
    return undefined
  }
}

function countNodes(tree: unknown): number {
  let count = 0
  for (const open = [tree]; open.length > 0; ) {
    const node = open.pop()
    if (node === null || typeof node !== 'object') continue
    if (!Array.isArray(node)) count++
    for (const value of Object.values(node)) open.push(value)
  }
  return count
}

const isAlive = () => assert.equal(read('select 1; select 2', statementLimits), 2)

describe('limits', () => {
  test('whatever text comes, nothing but a refusal is thrown', () => {
    fc.assert(
      fc.property(anyText, (text) => void read(text, statementLimits)),
      { numRuns: runs(200) },
    )
    isAlive()
  })

  test('what nests or goes on without an end breaks neither the parser nor a limit', () => {
    fc.assert(
      fc.property(bomb, fc.constantFrom(statementLimits, viewLimits), (text, limits) => {
        read(text, limits)
        isAlive()
      }),
      { numRuns: runs(20) },
    )
  })

  test('what is nested in several ways at once stays within the depth', () => {
    const ways = [
      '(select 1+',
      'f(not ',
      'case when 1 is null then (',
      'array[1 collate "C" + ',
      '(1 union select ',
    ]
    const nested = fc.array(fc.constantFrom(...ways), { minLength: 100, maxLength: 2_500 })
    fc.assert(
      fc.property(nested, (pieces) => {
        const close = pieces.map((way) =>
          way.startsWith('case') ? ') end' : way.startsWith('array') ? ']' : ')',
        )
        read(`select ${pieces.join('')}1${close.toReversed().join('')}`, viewLimits)
        isAlive()
      }),
      { numRuns: runs(20) },
    )
  })

  const many = (length: number, one: (at: number) => string) => Array.from({ length }, (_, at) => one(at))
  const taken: Record<string, string> = {
    'a view of 1,600 columns': `select ${many(1_600, (at) => `t.column_${at} as other_${at}`)} from public.t`,
    'a view with 300 joins': `select 1 from public.t ${many(300, (at) => `left join public.t${at} on (t.id = t${at}.id)`).join(' ')}`,
    'a view with 500 unions': many(500, (at) => `select t.a, t.b, ${at} from public.t`).join(' union all '),
  }
  for (const [name, text] of Object.entries(taken))
    test(`${name} is taken`, () => assert.equal(read(text, viewLimits), 1))

  test('views that are over the limits are refused, one by one', () => {
    for (const text of [
      `select 1${'+1'.repeat(5_000)}`,
      `select ${'('.repeat(5_000)}1${')'.repeat(5_000)}`,
    ]) {
      assert.throws(
        () => moveRelations(`${text} from public.customers`, () => 'x'),
        (error) => error instanceof SqlRefusal && error.reason === 'TooDeep',
      )
      assert.equal(
        moveRelations('select 1 from public.customers', () => 'x'),
        'select 1 from x',
      )
    }
  })

  test('a parser that breaks is replaced', async () => {
    const parser = new SteadyParser()
    await parser.load()
    for (let round = 0; round < 4; round++) {
      assert.equal(parser.parse(`select 1${'+1'.repeat(200_000)}`), undefined)
      assert.match(parser.parse('table customers') ?? '', /customers/)
      await parser.load()
    }
  })
})
