import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import fc from 'fast-check'
import type { MaskingFunction } from '../../../src/enforcement/masks.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

interface StringColumn {
  readonly type: 'text' | 'varchar' | 'char'
  readonly width: number
  readonly masking: Exclude<MaskingFunction, 'Number'>
  readonly prefix: number
  readonly suffix: number
  readonly replacement: string
  readonly values: readonly string[]
}

const rows = 4
const anyText = fc
  .oneof(
    fc.string({ maxLength: 30, unit: 'grapheme' }),
    fc.string({ maxLength: 30, unit: fc.constantFrom(...'0123456789- x') }),
    fc.constantFrom(
      "'; drop table t; --",
      '\\',
      '%',
      '$1',
      '"',
      '\u{1f600}'.repeat(20),
      ' ',
      'a@b.c',
      'x'.repeat(5000),
    ),
  )
  // biome-ignore lint/suspicious/noControlCharactersInRegex: PostgreSQL stores no NUL
  .map((text) => text.replace(/\u0000/g, '').normalize('NFC'))
const anyStringColumn: fc.Arbitrary<StringColumn> = fc.record({
  type: fc.constantFrom('text', 'varchar', 'char'),
  width: fc.integer({ min: 1, max: 40 }),
  masking: fc.constantFrom('CCN', 'SSN', 'Email', 'Text', 'Default'),
  prefix: fc.integer({ min: 0, max: 12 }),
  suffix: fc.integer({ min: 0, max: 12 }),
  replacement: anyText,
  values: fc.array(anyText, { minLength: rows, maxLength: rows }),
})

/** What is stored: cut to the width, and padding does not count. */
function store(text: string, { type, width }: StringColumn): string {
  if (type === 'text') return text
  const cut = [...text].slice(0, width).join('')
  return type === 'char' ? cut.replace(/ +$/, '') : cut
}

/** The mask by its words, in another language than the one under test. */
function expect(raw: string, column: StringColumn): string {
  const characters = [...raw]
  const digits = [...characters.slice(-256).join('')].filter((c) => /[0-9]/.test(c)).join('')
  const lastFour = digits.length >= 8 ? digits.slice(-4) : 'XXXX'
  const { prefix, suffix, replacement } = column
  switch (column.masking) {
    case 'Default':
      return 'XXXX'
    case 'CCN':
      return `XXXX-XXXX-XXXX-${lastFour}`
    case 'SSN':
      return `XXX-XX-${lastFour}`
    case 'Email':
      return `${characters.length > 1 ? characters[0] : 'X'}XXX@XXXX.com`
    case 'Text': {
      if (characters.length <= prefix + suffix) return replacement
      const end = suffix === 0 ? '' : characters.slice(-suffix).join('')
      return characters.slice(0, prefix).join('') + replacement + end
    }
  }
}

const anyNumber = fc
  .tuple(fc.bigInt(-(10n ** 25n), 10n ** 25n), fc.integer({ min: 0, max: 8 }))
  .map(([digits, places]) => {
    const text = `${digits < 0n ? -digits : digits}`.padStart(places + 1, '0')
    const point = text.length - places
    return `${digits < 0n ? '-' : ''}${text.slice(0, point)}${places > 0 ? `.${text.slice(point)}` : ''}`
  })
const numberTypes = [
  'int2',
  'int4',
  'int8',
  'numeric',
  'numeric(6,2)',
  'numeric(3,-2)',
  'numeric(2,5)',
  'float4',
  'float8',
  'money',
]
const anyNumberColumn = fc.record({
  type: fc.constantFrom(...numberTypes),
  from: anyNumber,
  to: anyNumber,
})

forEachCluster((cluster) => {
  describe('masks, whatever the values', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    before(async () => {
      target = await createMaskedDatabase(cluster)
      await target.createRole('reader')
      await target.database.sql.unsafe('grant usage on schema public to public')
    })
    after(() => target[Symbol.asyncDispose]())

    let tables = 0
    const createTable = async (types: readonly string[]) => {
      const name = `p${tables++}`
      const columns = types.map((type, at) => `c${at} ${type}`).join(', ')
      await target.database.sql.unsafe(
        `create table public.${name} (id int, ${columns}); grant select on public.${name} to public`,
      )
      return name
    }

    clause('ENF-13', '`CCN`, `SSN`, `Email` and `Text` show of a string what they say…', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyStringColumn, { minLength: 15, maxLength: 25 }), async (columns) => {
          const name = await createTable(
            columns.map(({ type, width }) => (type === 'text' ? type : `${type}(${width})`)),
          )
          const { sql } = target.database
          for (let id = 0; id < rows; id++)
            await sql.unsafe(
              `insert into public.${name} values (${id}, ${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
              columns.map((column) => store(column.values[id] ?? '', column)),
            )
          const rules = columns.map(({ masking, prefix, suffix, replacement }, at) =>
            rule(`public.${name}.c${at}`, masking, {
              prefixSize: `${prefix}`,
              suffixSize: `${suffix}`,
              replacementString: replacement,
            }),
          )
          await reconcile(target.database, policy(rules))
          const shown = await target
            .connectAs('reader')
            .sql.unsafe(`select * from masked_public.${name} order by id`)
          for (const [id, row] of shown.entries())
            for (const [at, column] of columns.entries()) {
              const raw = store(column.values[id] ?? '', column)
              const masked = store(expect(raw, column), column)
              const seen = column.type === 'char' ? String(row[`c${at}`]).replace(/ +$/, '') : row[`c${at}`]
              assert.equal(seen, masked, JSON.stringify({ raw, column }))
            }
        }),
        { numRuns: 6 },
      )
    })

    clause('ENF-14', '`Number` draws from its range anew in every query, whatever the…', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyNumberColumn, { minLength: 20, maxLength: 30 }), async (columns) => {
          const name = await createTable(columns.map(({ type }) => type))
          const { sql } = target.database
          await sql.unsafe(
            `insert into public.${name} (id, ${columns.map((_, at) => `c${at}`).join(', ')}) values (1, ${columns.map(() => '0').join(', ')}), (2, ${columns.map(() => 'null').join(', ')})`,
          )
          const rules = columns.map(({ from, to }, at) =>
            rule(`public.${name}.c${at}`, 'Number', { numberFrom: from, numberTo: to }),
          )
          await reconcile(target.database, policy(rules))
          const reader = target.connectAs('reader').sql
          const [first, second] = await reader.unsafe(`select * from masked_public.${name} order by id`)
          for (const [at, { type }] of columns.entries()) {
            assert.notEqual(first?.[`c${at}`], null, type)
            assert.equal(second?.[`c${at}`], null, type)
          }
          const inside = columns.flatMap(({ from, to, type }, at) =>
            ['numeric', 'float8'].includes(type)
              ? [
                  `c${at}::numeric between least(${from}, ${to}) - abs(${from}) / 1e10 - 1 and greatest(${from}, ${to}) + abs(${to}) / 1e10 + 1`,
                ]
              : [],
          )
          if (inside.length === 0) return
          const [row] = await reader.unsafe(
            `select ${inside.join(' and ')} as inside from masked_public.${name} where id = 1`,
          )
          assert.equal(row?.inside, true)
        }),
        { numRuns: 6 },
      )
    })
  })
})
