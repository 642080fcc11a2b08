import assert from 'node:assert/strict'
import { after, before, describe } from 'node:test'
import fc from 'fast-check'
import type { MaskingFunction } from '../../../src/masks/policy.ts'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forUsualCluster } from '../../support/postgres.ts'
import { runs } from '../../support/runs.ts'

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
const newNumbers = new Set(['numeric(3,-2)', 'numeric(2,5)'])
const anyNumberColumn = fc.record({
  type: fc.constantFrom(...numberTypes),
  from: anyNumber,
  to: anyNumber,
})

/** A type, a raw value of it, and what of that must never show. */
const anyType = fc.constantFrom<[string, string, string]>(
  ['text', "'zqraw-value-0000'", 'zqraw'],
  ['varchar(12)', "'zqraw-value'", 'zqraw'],
  ['char(20)', "'zqraw-value'", 'zqraw'],
  ['name', "'zqraw-value'", 'zqraw'],
  ['int4', '918273645', '918273645'],
  ['int8', '918273645546', '918273645'],
  ['numeric(20,4)', '918273645.1234', '918273645'],
  ['float8', '918273645.5', '918273645'],
  ['money', '918273645', '918,273,645'],
  ['date', "'1987-06-05'", '1987'],
  ['timestamptz', "'1987-06-05 04:03:02+00'", '1987'],
  ['interval', "'1987 days'", '1987'],
  ['uuid', "'c0ffee15-1ea4-4bad-8bad-5eed5eed5eed'", 'c0ffee'],
  ['bytea', "'zqraw'", '7a71726177'],
  ['json', `'{"k":"zqraw"}'`, 'zqraw'],
  ['jsonb', `'["zqraw"]'`, 'zqraw'],
  ['xml', "'<zqraw/>'", 'zqraw'],
  ['inet', "'198.51.100.77'", '198.51'],
  ['text[]', "'{zqraw}'", 'zqraw'],
  ['int4[]', "'{918273645}'", '918273645'],
  ['int4range', "'[918273645,918273650)'", '918273645'],
  ['int4multirange', "'{[918273645,918273650)}'", '918273645'],
  ['point', "'(918273645,1)'", '918273645'],
  ['bit varying', "B'1010101110'", '1010101110'],
  ['tsvector', "'zqraw'", 'zqraw'],
  ['property_pair', "'(918273645,zqraw)'", 'zqraw'],
  ['property_mood', "'zqraw'", 'zqraw'],
  ['property_code', "'zqraw-1'", 'zqraw'],
  ['property_code[]', "'{zqraw-1}'", 'zqraw'],
)
const anyRule = fc.record({
  masking: fc.constantFrom<MaskingFunction>('CCN', 'SSN', 'Email', 'Text', 'Number', 'Default'),
  numberFrom: fc.oneof(anyNumber, fc.constantFrom(null, '', 'NaN', 'x', '1e9999', "1'")),
  numberTo: fc.oneof(anyNumber, fc.constantFrom(null, 'Infinity', '0x10')),
  prefixSize: fc.constantFrom(null, '0', '1', '-1', 'x', '99999999999999999999'),
  suffixSize: fc.constantFrom(null, '0', '1', '1.5', ''),
  replacementString: fc.oneof(fc.constant(null), anyText),
})

forUsualCluster((cluster) => {
  describe('masks, whatever the values', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    before(async () => {
      target = await createMaskedDatabase(cluster)
      await target.createRole('reader')
      await target.database.sql.unsafe(`grant usage on schema public to public; create type property_pair as (a int, b text);
        create type property_mood as enum ('calm', 'zqraw'); create domain property_code as text check (value ~ '^[a-z]+-[0-9]$')`)
    })
    after(() => target[Symbol.asyncDispose]())

    let tables = 0
    const createTable = async (types: readonly string[]) => {
      const name = `p${tables++}`
      // Numbers of fewer digits than their scale, and of negative scale, are new in PostgreSQL 15.
      const known = types.map((type) => (majorOf(cluster) < 15 && newNumbers.has(type) ? 'numeric(3)' : type))
      const columns = known.map((type, at) => `c${at} ${type}`).join(', ')
      await target.database.sql.unsafe(
        `create table public.${name} (id int, ${columns}); grant select on public.${name} to public`,
      )
      return name
    }

    clause(
      'ENF-13',
      '`CCN`, `SSN`, `Email` and `Text` show exactly the documented part of a string, cut to the…',
      async () => {
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
            await takeTurn(target.database, policy(rules))
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
          { numRuns: runs(6) },
        )
      },
    )

    clause(
      'ENF-14',
      '`Number` draws from its range anew in every query, independent of the raw value, and never…',
      async () => {
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
            await takeTurn(target.database, policy(rules))
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
          { numRuns: runs(6) },
        )
      },
    )

    clause('ENF-15', 'Whatever the rule says and whatever the type of the column is, a mask…', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(anyType, anyRule), { minLength: 30, maxLength: 40 }),
          async (columns) => {
            const name = await createTable(columns.map(([[type]]) => type))
            const raws = columns.map(([[, raw]]) => raw).join(', ')
            await target.database.sql.unsafe(`insert into public.${name} values (1, ${raws})`)
            const rules = columns.map(([, { masking, ...extra }], at) =>
              rule(`public.${name}.c${at}`, masking, extra),
            )
            await takeTurn(target.database, policy(rules))
            const list = columns.map((_, at) => `c${at}::text`).join(', ')
            const [row] = await target
              .connectAs('reader')
              .sql.unsafe(`select array[${list}] as shown from masked_public.${name}`)
            for (const [at, [[type, , needle], { masking }]] of columns.entries())
              assert.ok(!String(row?.shown[at]).includes(needle), `${masking} of ${type}: ${row?.shown[at]}`)
          },
        ),
        { numRuns: runs(6) },
      )
    })
  })
})
