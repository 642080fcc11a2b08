import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { takeTurn } from '../../../src/masks/turn.ts'
import { clause } from '../../support/clause.ts'
import { majorOf } from '../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { forEachCluster } from '../../support/postgres.ts'

/** Type, a raw value, what Default makes of it (as text). */
const allDefaults: [string, string, string | null][] = [
  ['text', "'raw'", 'XXXX'],
  ['varchar(20)', "'raw'", 'XXXX'],
  ['varchar(2)', "'ra'", 'XX'],
  ['char(1)', "'r'", 'X'],
  ['char(6)', "'raw'", 'XXXX'],
  ['name', "'raw'", 'XXXX'],
  ['"char"', "'r'", 'X'],
  ['text collate "C"', "'raw'", 'XXXX'],
  ['shy_text', "'raw'", 'XXXX'],
  ['bool', 'true', 'false'],
  ['int2', '7', '0'],
  ['int4', '7', '0'],
  ['int8', '7', '0'],
  ['numeric', '7.5', '0'],
  ['numeric(5,2)', '7.5', '0.00'],
  ['numeric(2,2)', '0.5', '0.00'],
  ['numeric(3,-2)', '12300', '0'],
  ['float4', '7.5', '0'],
  ['float8', '7.5', '0'],
  ['money', '7.5', '$0.00'],
  ['oid', '7', '0'],
  ['date', "'2001-02-03'", '1900-01-01'],
  ['timestamp', "'2001-02-03 04:05'", '1900-01-01 00:00:00'],
  ['timestamp(0)', "'2001-02-03 04:05'", '1900-01-01 00:00:00'],
  ['timestamptz', "'2001-02-03 04:05'", '1900-01-01 00:00:00+00'],
  ['time', "'04:05'", '00:00:00'],
  ['timetz', "'04:05+01'", '00:00:00+00'],
  ['interval', "'3 days'", '00:00:00'],
  ['interval year to month', "'3 years'", '00:00:00'],
  ['uuid', "'12345678-1234-1234-1234-123456789abc'", '00000000-0000-0000-0000-000000000000'],
  ['bytea', "'raw'", '\\x00'],
  ['json', `'{"a":"raw"}'`, '{}'],
  ['jsonb', `'{"a":"raw"}'`, '{}'],
  ['jsonpath', "'$.raw'", '$'],
  ['xml', "'<raw/>'", '<masked/>'],
  ['inet', "'10.1.2.3'", '0.0.0.0/32'],
  ['cidr', "'10.1.2.0/24'", '0.0.0.0/32'],
  ['macaddr', "'08:00:2b:01:02:03'", '00:00:00:00:00:00'],
  ['macaddr8', "'08:00:2b:01:02:03:04:05'", '00:00:00:00:00:00:00:00'],
  ['bit(3)', "B'101'", '000'],
  ['bit varying(5)', "B'101'", ''],
  ['point', "'(1,2)'", '(0,0)'],
  ['line', "'{1,2,3}'", '{1,0,0}'],
  ['lseg', "'[(1,2),(3,4)]'", '[(0,0),(0,0)]'],
  ['box', "'(1,2),(3,4)'", '(0,0),(0,0)'],
  ['path', "'((1,2),(3,4))'", '((0,0))'],
  ['polygon', "'((1,2),(3,4))'", '((0,0))'],
  ['circle', "'<(1,2),3>'", '<(0,0),0>'],
  ['tsvector', "'raw'", ''],
  ['tsquery', "'raw'", ''],
  ['pg_lsn', "'16/B374D848'", '0/0'],
  ['int4[]', "'{1,2}'", '{}'],
  ['varchar(3)[]', "'{raw}'", '{}'],
  ['text[][]', "'{{raw}}'", '{}'],
  ['int4range', "'[1,5)'", 'empty'],
  ['tstzrange', "'[2001-01-01,2002-01-01)'", 'empty'],
  ['int4multirange', "'{[1,5)}'", '{}'],
  ['mood', "'raw'", 'calm'],
  ['mood[]', "'{raw}'", '{}'],
  ['pair', "'(1,raw)'", null],
  ['mail', "'raw@x.y'", null],
  ['short', "'raw'", 'XXX'],
  ['shorter', "'ra'", null],
  ['positive', '7', null],
  ['past', "'2001-02-03'", null],
  ['hostile', "'raw'", null],
  ['public.uuid', "'(1,raw)'", null],
  ['public.text', "'raw'", 'calm'],
  ['int2vector', "'1 2'", null],
  ['bit(2000)', "B'1'::bit(2000)", '0'.repeat(2000)],
  ['feeling', "'raw'", 'calm'],
]

/** Under a mask, the column has the type below. */
const domains = new Set([
  ...['shy_text', 'mail', 'short', 'shorter', 'positive', 'feeling', 'hostile', 'past'],
])

forEachCluster((cluster) => {
  describe('masks', () => {
    const defaults = allDefaults.filter(([type]) => type !== 'numeric(3,-2)' || majorOf(cluster) >= 15)
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    before(async () => {
      target = await createMaskedDatabase(cluster)
      const reader = await target.createRole('reader')
      await target.database.sql.unsafe(`
        create collation shy_collation (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        create type mood as enum ('calm', 'raw');
        create type pair as (a int, b text);
        create domain shy_text as text collate shy_collation;
        create domain mail as text check (value ~ '@');
        create domain short as varchar(3) not null;
        create domain shorter as short check (length(value) < 3);
        create domain positive as int check (value > 0);
        create domain past as date check (value < current_date);
        create domain feeling as mood;
        create table public.tripped (at int);
        create function public.trip(text) returns boolean language plpgsql as $$ begin insert into public.tripped values (1); return true; end $$;
        create domain hostile as pg_catalog.text check (public.trip(value));
        create type public.uuid as (a int, b pg_catalog.text);
        create type public.text as enum ('calm', 'raw');
        grant usage on schema public to "${reader}"`)
      await createAll(target, defaults)
    })
    after(() => target[Symbol.asyncDispose]())

    clause('ENF-11', "`Default` gives every type a legal constant of the column's own…", async () => {
      const rules = defaults.map((_, at) => rule(`public.t${at}.v`))
      await takeTurn(target.database, policy(rules))
      const { sql } = target.connectAs('reader')
      for (const [at, [type, , expected]] of defaults.entries()) {
        const rows = await sql.unsafe(
          `select id, v::text as v, pg_typeof(v)::text as type from masked_public.t${at} order by id`,
        )
        assert.equal(rows[0]?.v, expected, type)
        const isDomain = domains.has(type)
        const [raw] = await target.database.sql.unsafe(
          `select format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = 'public.t${at}'::regclass and attname = 'v'`,
        )
        const [twin] = await target.database.sql.unsafe(
          `select format_type(atttypid, atttypmod) as type from pg_attribute where attrelid = 'masked_public.t${at}'::regclass and attname = 'v'`,
        )
        if (!isDomain) assert.equal(twin?.type, raw?.type, `the type of ${type}`)
        if (!type.startsWith('short')) assert.equal(rows[1]?.v, null, `NULL of ${type}`)
      }
    })

    clause('ENF-12', 'Masking runs no check of a domain: a column of a domain with…', async () => {
      await target.database.sql.unsafe('truncate public.tripped')
      await takeTurn(target.database, policy([rule('public.t0.v')]))
      await takeTurn(target.database, policy(defaults.map((_, at) => rule(`public.t${at}.v`))))
      assert.deepEqual(await target.database.sql.unsafe('select * from public.tripped'), [])
    })

    const strings: [string, string, object, [string, string][]][] = [
      [
        'CCN',
        'text',
        {},
        [
          ['4111-1111-1111-1234', 'XXXX-XXXX-XXXX-1234'],
          ['4111111111111234', 'XXXX-XXXX-XXXX-1234'],
          ['123', 'XXXX-XXXX-XXXX-XXXX'],
          ['', 'XXXX-XXXX-XXXX-XXXX'],
          ['no digits', 'XXXX-XXXX-XXXX-XXXX'],
        ],
      ],
      ['CCN', 'varchar(16)', {}, [['4111111111111234', 'XXXX-XXXX-XXXX-1']]],
      ['SSN', 'char(11)', {}, [['123-45-6789', 'XXX-XX-6789']]],
      ['SSN', 'varchar(5)', {}, [['12345', 'XXX-X']]],
      [
        'Email',
        'text',
        {},
        [
          ['ann@example.com', 'aXXX@XXXX.com'],
          ['élan@x.fr', 'éXXX@XXXX.com'],
          ['', 'XXXX@XXXX.com'],
          ['a', 'XXXX@XXXX.com'],
        ],
      ],
      ['Email', 'varchar(4)', {}, [['a@b', 'aXXX']]],
      ['Email', 'shy_text', {}, [['ann@example.com', 'aXXX@XXXX.com']]],
      ['Email', 'mail', {}, [['ann@example.com', 'aXXX@XXXX.com']]],
      [
        'Text',
        'text',
        {},
        [
          ['anything', 'XXXX'],
          ['', 'XXXX'],
        ],
      ],
      [
        'Text',
        'text',
        { prefixSize: '2', suffixSize: '1', replacementString: '*' },
        [
          ['abcdef', 'ab*f'],
          ['abc', '*'],
          ['abcd', 'ab*d'],
          ['ëëëëë', 'ëë*ë'],
          ['👍👍👍👍👍', '👍👍*👍'],
        ],
      ],
      [
        'Text',
        'text',
        { prefixSize: '1', replacementString: "'; drop table t; -- \\ $$" },
        [['abc', "a'; drop table t; -- \\ $$"]],
      ],
      [
        'Text',
        'varchar(4)',
        { prefixSize: '1', suffixSize: '1', replacementString: 'XXXXXXXX' },
        [['abcd', 'aXXX']],
      ],
      ['Text', 'text', { prefixSize: '2147483647', suffixSize: '2147483647' }, [['abc', 'XXXX']]],
    ]
    test('CCN, SSN, Email and Text mask strings', async () => {
      const { sql } = target.database
      const rules = []
      for (const [at, [name, type, extra, cases]] of strings.entries()) {
        await sql.unsafe(
          `create table public.s${at} (id int, v ${type}); grant select on public.s${at} to public`,
        )
        for (const [id, [raw]] of cases.entries())
          await sql.unsafe(`insert into public.s${at} values ($1, $2)`, [id, raw])
        rules.push(rule(`public.s${at}.v`, name as 'CCN', extra))
      }
      await takeTurn(target.database, policy(rules))
      const reader = target.connectAs('reader')
      for (const [at, [name, type, , cases]] of strings.entries()) {
        const rows = await reader.sql.unsafe(`select v from masked_public.s${at} order by id`)
        assert.deepEqual(
          rows.map(({ v }) => v),
          cases.map(([, masked]) => masked),
          `${name} on ${type}`,
        )
      }
    })

    const numbers: [string, string, string][] = [
      ['int2', '-32768', '32767'],
      ['int4', '-2147483648', '2147483647'],
      ['int8', '-9223372036854775808', '9223372036854775807'],
      ['int4', '5', '5'],
      ['numeric(4,2)', '-99.99', '99.99'],
      ['numeric', '0.001', '0.002'],
      ['float4', '1', '2'],
      ['float8', '-1e10', '1e10'],
      ['money', '1', '2'],
    ]
    test('Number draws from its range, anew in every query, whatever the raw value is', async () => {
      const { sql } = target.database
      const rules = []
      for (const [at, [type, numberFrom, numberTo]] of numbers.entries()) {
        await sql.unsafe(`create table public.n${at} as select id, (case when id = 1 then null else 7 end)::${type} as v from generate_series(1, 200) id;
          grant select on public.n${at} to public`)
        rules.push(rule(`public.n${at}.v`, 'Number', { numberFrom, numberTo }))
      }
      await takeTurn(target.database, policy(rules))
      const reader = target.connectAs('reader')
      for (const [at, [type, from, to]] of numbers.entries()) {
        const [row] = await reader.sql.unsafe(`select count(*) filter (where v is null) as nulls,
            bool_and(v::numeric between ${from} and ${to}) as inside, count(distinct v) as distinct from masked_public.n${at}`)
        assert.deepEqual([row?.nulls, row?.inside], [1, true], type)
        if (from !== to && type !== 'numeric')
          assert.ok(row?.distinct > 20, `${type}: ${row?.distinct} values`)
      }
    })
  })
})

async function createAll(
  { database }: { database: { sql: { unsafe(text: string): Promise<unknown> } } },
  defaults: typeof allDefaults,
) {
  for (const [at, [type, raw]] of defaults.entries()) {
    const second = type.startsWith('short') ? '' : ', (2, null)'
    await database.sql.unsafe(`create table public.t${at} (id int, v ${type}); insert into public.t${at} values (1, ${raw})${second};
      grant select on public.t${at} to public`)
  }
}
