import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import pino from 'pino'
import { unparsed } from '../../../../src/gateway/audit/touch.ts'
import { MaskMap } from '../../../../src/gateway/rewrite/mask-map.ts'
import { catalogOf, maxHidden } from '../../../../src/gateway/rewrite/names.ts'
import { rewriteText } from '../../../../src/gateway/rewrite/rewrite.ts'
import { NameScope } from '../../../../src/gateway/session/name-scope.ts'
import { StatementTexts } from '../../../../src/gateway/session/statement-texts.ts'
import { Effort } from '../../../../src/sql/effort.ts'
import { statementLimits } from '../../../../src/sql/limits.ts'
import { parseStatements } from '../../../../src/sql/parse.ts'
import { SqlRefusal } from '../../../../src/sql/refusal.ts'
import { resolveReferences } from '../../../../src/sql/resolve.ts'
import { join } from '../../../../src/sql/splice.ts'
import { clause } from '../../../support/clause.ts'

const columns = Array.from({ length: 60 }, (_, at) => `c${at}`)
const watchedColumns = columns
  .slice(0, 30)
  .map((attribute) => ({ column: `public.p.${attribute}`, attribute, isRaw: false }))
const p = { schema: 'public', name: 'p' }
const masks = new MaskMap({
  relations: [
    {
      ...p,
      twin: { schema: 'masked_public', name: 'p' },
      columns,
      hasChildren: false,
      key: ['c59'],
      dependent: columns,
    },
  ],
  homonyms: [p],
  watched: [{ ...p, attributes: columns, masked: watchedColumns, shows: [] }],
})
const names = { masks, database: 'shop', path: ['public'], hidden: new Set<string>() }
const many = (length: number, one: (at: number) => string, between = ',') =>
  Array.from({ length }, (_, at) => one(at)).join(between)

/** Steps, and how many reads are held; undefined: the text was refused for its steps. */
function resolve(text: string): { steps: number; reads: number } | undefined {
  const effort = new Effort(statementLimits)
  let reads = 0
  try {
    for (const statement of parseStatements(text, statementLimits))
      reads += resolveReferences(statement, catalogOf(names), effort).reads.length
  } catch (error) {
    assert.ok(error instanceof SqlRefusal && error.reason === 'TooManySteps', String(error))
    assert.ok(effort.spent < statementLimits.steps + 10_000)
    return undefined
  }
  return { steps: effort.spent, reads }
}

const nestedJoins = (levels: number) =>
  `select c1 from ${'('.repeat(levels)}p${many(levels, (at) => ` join p x${at} on true) j${at}`, '')}`

describe('the steps of an analysis', () => {
  const over: Record<string, string> = {
    'natural joins': `select 1 from p ${many(900, () => 'natural join p', ' ')}`,
    stars: `select ${many(1_400, () => '*')} from ${many(1_400, () => 'p')}`,
    columns: `select ${many(1_400, () => 'c1')} from ${many(1_400, () => 'p')}`,
    'columns of several statements': `select ${many(200, () => 'c1')} from ${many(200, () => 'p')};`.repeat(
      7,
    ),
    assignments: `update t set ${many(450, (at) => `a${at}=c1`)} from ${many(700, () => 'p')}`,
  }
  const taken: Record<string, string> = {
    'a hundred joins': `select ${many(400, (at) => `t${at % 100}.c${at % 60}`)} from p t0 ${many(99, (at) => `left join p t${at + 1} on t0.c1 = t${at + 1}.c1`, ' ')}`,
    'unqualified columns of thirty tables': `select ${columns} from ${many(30, (at) => `p t${at}`)}`,
    'twenty natural joins': `select * from p ${many(20, () => 'natural join p', ' ')}`,
    'columns through five queries': `insert into t with ${many(5, (at) => `q${at} as (select ${columns} from ${at ? `q${at - 1}` : 'p'})`)} select ${columns} from q4`,
    'unions of three hundred': many(300, (at) => `select c1, c2, ${at} from p`, ' union all '),
  }

  clause(
    'GATE-210',
    'A text whose names take more than 200,000 steps to resolve passes as it is, like one that is too long.…',
    async (t) => {
      for (const [name, text] of Object.entries(over))
        await t.test(`${name} are too many`, () => {
          assert.equal(resolve(text), undefined)
          const { splices, isParsed, effects } = rewriteText(Buffer.from(text), names)
          assert.deepEqual([splices, isParsed], [[], false])
          assert.ok(effects.every(({ touch }) => touch?.isUnparsed))
        })
      for (const [name, text] of Object.entries(taken))
        await t.test(`${name} are taken`, (t) => {
          const found = resolve(text)
          t.diagnostic(`${found?.steps} steps`)
          assert.ok(found && found.steps < statementLimits.steps / 4)
          assert.ok(rewriteText(Buffer.from(text), names).isParsed)
        })
    },
  )

  test('a column is held once for each relation, however often it is read', () => {
    assert.equal(resolve(`select ${many(100, () => 'c1, c2, *')} from p, p b where c1 = c2`)?.reads, 6)
  })

  test('joins in joins take steps by their number, and do not double', () => {
    const [few, more] = [resolve(nestedJoins(20)), resolve(nestedJoins(40))]
    assert.ok(few && more)
    assert.ok(more.steps < 6 * few.steps, `${few.steps}, then ${more.steps} steps`)
    assert.deepEqual([few.reads, more.reads], [21, 41])
  })

  test('what is grouped and put into the text counts as well', () => {
    const grouped = (count: number) => `select * from ${many(count, (at) => `p a${at}`)} group by c59`
    assert.ok(rewriteText(Buffer.from(grouped(30)), names).isParsed)
    assert.ok(resolve(grouped(1_000)))
    assert.ok(!rewriteText(Buffer.from(grouped(1_000)), names).isParsed)
  })

  test('so does what is traced to the values that are stored', () => {
    const free = new MaskMap({ relations: masks.relations, homonyms: [], watched: [] })
    const text = `update t set ${many(300, (at) => `a${at}=q.b`)} from ${many(600, () => `(select ${many(3, () => 'b')} from q) q`)}`
    const short = `update t set ${many(10, (at) => `a${at}=q.b`)} from ${many(10, () => `(select ${many(3, () => 'b')} from q) q`)}`
    assert.ok(rewriteText(Buffer.from(short), { ...names, masks: free }).isParsed)
    assert.ok(!rewriteText(Buffer.from(text), { ...names, masks: free }).isParsed)
  })
})

describe('names of a session', () => {
  const rewrite = (texts: StatementTexts, text: string) =>
    join(Buffer.from(text), texts.rewrite(Buffer.from(text))?.splices ?? []).toString()
  const open = () =>
    new StatementTexts({
      masks: () => masks,
      role: 'ann',
      database: 'shop',
      parameters: new Map([['search_path', 'public']]),
      hearsPath: true,
      log: pino({ level: 'silent' }),
    })

  clause(
    'GATE-213',
    'A text with a letter right behind a number or a parameter, as in `1from`, is not looked into, and the audit says…',
    () => {
      const texts = open()
      const filler = `, ${many(3_000, () => '1')}`
      for (const number of ['1', '1.', '1.5', '1e5', '0x', '$1'])
        for (const text of [`select c1,${number}from p`, `select c1${filler},${number}from p`]) {
          assert.equal(rewrite(texts, text), text)
          assert.equal(texts.effects, unparsed, text.slice(-20))
        }
      rewrite(texts, 'select c1,1 from p')
      assert.ok(texts.effects.every(({ touch }) => touch?.masked.includes('public.p.c1')))
    },
  )

  clause(
    'GATE-211',
    'Of a session the gateway knows the last 2,000 names of temporary relations. A name before…',
    () => {
      const texts = open()
      let made = 0
      const make = (count: number) =>
        rewrite(texts, `${many(count, () => `create temp table a${made++}()`, ';')};reset a`)
      rewrite(texts, 'create temp table p ()')
      assert.equal(rewrite(texts, 'table p'), 'table p')
      make(maxHidden / 4)
      assert.equal(rewrite(texts, 'table p'), 'table p')
      for (let round = 0; round < 4; round++) make(maxHidden / 4)
      assert.equal(rewrite(texts, 'table p'), 'table "masked_public"."p"')
      const inOneText = `create temp table p (); table p; drop table p; table p`
      assert.equal(rewrite(texts, inOneText), inOneText.replace(/p$/, '"masked_public"."p"'))
      const scope = new NameScope('public')
      for (let at = 0; at < 3 * maxHidden; at++) scope.change({ hides: `a${at}` })
      assert.equal(scope.hidden.size, maxHidden)
      assert.ok(scope.hidden.has(`a${3 * maxHidden - 1}`))
    },
  )

  clause(
    'GATE-214',
    'Of a search path the first 10,000 schemas count, each once. A relation in a later one is…',
    () => {
      const texts = open()
      const path = (count: number) => `${many(count, (at) => `s${at}`)}, public`
      texts.setParameter('search_path', path(9_999))
      assert.equal(rewrite(texts, 'table p'), 'table "masked_public"."p"')
      texts.setParameter('search_path', path(10_000))
      assert.equal(rewrite(texts, 'table p'), 'table p')
      texts.setParameter('search_path', `${'a, '.repeat(20_000)} public`)
      assert.equal(rewrite(texts, 'table p'), 'table "masked_public"."p"')
      const scope = new NameScope(path(200_000))
      assert.equal(scope.path.length, 10_000)
    },
  )
})
