import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { apiVersion, freshDatabase, policyUrl, ruleUrl, useMasking } from '../../support/masking.ts'
import { createEmptyDatabase, forEachCluster, type TestDatabase } from '../../support/postgres.ts'

const { send, putRule, putPolicy, listRules } = useMasking()

const longest = 'c'.repeat(63)

const schema = `
  create schema "Odd ""Schema""";
  create domain short_text as varchar(20) check (value <> '');
  create domain shorter_text as short_text;
  create domain cents as numeric(6, 2);
  create type mood as enum ('good', 'bad');
  create extension if not exists citext schema public;
  create table public.person (
    id integer primary key, email text, phone varchar(20), code char(4), nick shorter_text, tag public.citext,
    age smallint, visits bigint, salary numeric(8, 2), any_number numeric, price cents, rounded numeric(3, -2),
    ratio real, score double precision, cash money, born date, vip boolean, mood mood, notes jsonb, raw bytea,
    tags text[], ${longest} text, "Größe" text, "we''ird $$ \\ col" text
  );
  create table "Odd ""Schema"""."a $$ table\\" ("col'umn" text);
  create view public.person_view as select email from public.person;
  create materialized view public.person_cache as select email from public.person;
  create table public.part (id int, email text) partition by list (id);
  alter table public.person add column dropped text;
  alter table public.person drop column dropped`

forEachCluster((cluster) => {
  let bound: TestDatabase
  let db = ''
  before(async () => {
    bound = await createEmptyDatabase(cluster)
    await bound.database.sql.unsafe(`set search_path = public; ${schema}`)
    db = freshDatabase()
    const url = new URL(bound.url)
    const answer = await send('PUT', db, {
      properties: {
        binding: {
          host: url.hostname,
          port: Number(url.port),
          database: url.pathname.slice(1),
          user: url.username,
          password: decodeURIComponent(url.password),
        },
      },
    })
    assert.equal(answer.status, 201)
    assert.equal(answer.body.properties.connection.state, 'Reachable')
    // What is taken is the question here, not what becomes of it.
    await putPolicy(db, { dataMaskingState: 'Disabled' })
  })
  after(() => bound?.[Symbol.asyncDispose]())

  const rule = (columnName: string, maskingFunction: string, rest: object = {}) => ({
    schemaName: 'public',
    tableName: 'person',
    columnName,
    maskingFunction,
    ...rest,
  })
  async function expectRefusal(sent: object, field: string, message: RegExp): Promise<void> {
    const before = await listRules(db)
    const { status, body } = await putRule(db, 'refused', sent)
    assert.equal(status, 400, JSON.stringify(sent))
    assert.equal(body.error.code, 'InvalidDataMaskingRule')
    assert.deepEqual(
      body.error.details.map((detail: { target: string }) => detail.target),
      [`properties.${field}`],
    )
    assert.match(body.error.message, message)
    assert.deepEqual(await listRules(db), before)
  }

  clause(
    'MASK-75',
    'On a bound database, a column that does not exist, or a function that does not fit the type of the column, is 400 `InvalidDataMaskingRule`, with one entry in `details` per field, and nothing is stored.',
    async () => {
      await expectRefusal(rule('emial', 'Email'), 'columnName', /no column .*'emial'; did you mean 'email'\?/)
      await expectRefusal(rule('EMAIL', 'Email'), 'columnName', /did you mean 'email'/)
      await expectRefusal(rule('dropped', 'Default'), 'columnName', /no column/)
      await expectRefusal(rule('ctid', 'Default'), 'columnName', /no column/)
      await expectRefusal(
        { ...rule('x', 'Default'), tableName: 'persons' },
        'tableName',
        /did you mean 'person'/,
      )
      await expectRefusal(
        { ...rule('x', 'Default'), schemaName: 'pubic' },
        'schemaName',
        /did you mean 'public'/,
      )
      await expectRefusal({ ...rule('x', 'Default'), schemaName: 'qqq' }, 'schemaName', /'qqq'\.$/)
      await expectRefusal(rule('age', 'Email'), 'maskingFunction', /type smallint; fitting: Default, Number/)
      await expectRefusal(rule('born', 'Text'), 'maskingFunction', /type date; fitting: Default\./)
      await expectRefusal(
        rule('email', 'Number', { numberFrom: '0', numberTo: '1' }),
        'maskingFunction',
        /type text; fitting: Default, CCN, Email, SSN, Text/,
      )
    },
  )

  test('functions that fit their column are taken', async () => {
    const strings = ['email', 'phone', 'code', 'nick', 'tag', longest, 'Größe', "we''ird $$ \\ col"]
    for (const columnName of strings)
      for (const maskingFunction of ['CCN', 'SSN', 'Email', 'Text', 'Default'])
        assert.ok((await putRule(db, 'fits', rule(columnName, maskingFunction))).status < 300, columnName)
    const others = ['id', 'born', 'vip', 'mood', 'notes', 'raw', 'tags', 'cash', 'ratio']
    for (const columnName of others)
      assert.ok((await putRule(db, 'fits', rule(columnName, 'Default'))).status < 300, columnName)
    for (const columnName of ['mood', 'notes', 'raw', 'tags', 'vip', 'id'])
      await expectRefusal(rule(columnName, 'Text'), 'maskingFunction', /fitting: Default/)
    const partitioned = { ...rule('email', 'Email'), tableName: 'part' }
    assert.ok((await putRule(db, 'fits', partitioned)).status < 300)
    await send('DELETE', ruleUrl(db, 'fits'))
  })

  test('bounds fit the type of the column exactly', async () => {
    const bounds: [column: string, fits: string[], misfits: string[]][] = [
      ['age', ['-32768', '32767', '5.0'], ['32768', '-32769', '0.5']],
      ['id', ['-2147483648', '2147483647'], ['2147483648', '1.1']],
      ['visits', ['9223372036854775807', '-9223372036854775808'], ['9223372036854775808']],
      ['salary', ['999999.99', '-999999.99', '1.10', '1.100'], ['1000000', '0.001']],
      ['price', ['9999.99'], ['10000', '0.005']],
      ['any_number', ['9'.repeat(100), `0.${'0'.repeat(100)}1`], []],
      ['cash', ['92233720368547758.07'], ['92233720368547758.08', '0.001']],
      ['ratio', [`34${'0'.repeat(37)}`, '0.1'], [`35${'0'.repeat(37)}`]],
      ['score', ['0.1', '9'.repeat(128)], []],
    ]
    if (!cluster.endsWith('-14')) bounds.push(['rounded', ['0', '100', '99900'], ['50', '100000']])
    for (const [columnName, fits, misfits] of bounds) {
      for (const value of fits) {
        const sent = rule(columnName, 'Number', { numberFrom: value, numberTo: value })
        assert.ok((await putRule(db, 'bounds', sent)).status < 300, `${columnName} ${value}`)
      }
      for (const value of misfits) {
        const { status, body } = await putRule(
          db,
          'bounds',
          rule(columnName, 'Number', { numberFrom: value, numberTo: value }),
        )
        assert.equal(status, 400, `${columnName} ${value}`)
        assert.deepEqual(
          body.error.details.map((detail: { target: string }) => detail.target),
          ['properties.numberFrom', 'properties.numberTo'],
        )
      }
    }
    await send('DELETE', ruleUrl(db, 'bounds'))
  })

  test('names are data: odd ones are found, longer ones than PostgreSQL has are refused and never cut', async () => {
    const odd = {
      schemaName: 'Odd "Schema"',
      tableName: 'a $$ table\\',
      columnName: "col'umn",
      maskingFunction: 'Text',
    }
    const { status, body } = await putRule(db, 'odd', odd)
    assert.equal(status, 201)
    assert.equal(body.properties.id, `Odd "Schema"_a $$ table\\_col'umn`)
    await expectRefusal(rule(`${longest}c`, 'Default'), 'columnName', /more than 63 bytes/)
    await expectRefusal(rule('ö'.repeat(32), 'Default'), 'columnName', /more than 63 bytes/)
    for (const injection of [
      `email'; drop table person; --`,
      `email" from person`,
      'email\\',
      '$$email$$',
      '%',
    ])
      await expectRefusal(rule(injection, 'Default'), 'columnName', /no column/)
  })

  test('views and the schemas of PostgreSQL itself are refused', async () => {
    for (const tableName of ['person_view', 'person_cache'])
      await expectRefusal({ ...rule('email', 'Email'), tableName }, 'tableName', /is a view/)
    for (const schemaName of ['pg_catalog', 'information_schema', 'pg_toast'])
      await expectRefusal({ ...rule('x', 'Default'), schemaName }, 'schemaName', /PostgreSQL itself/)
  })

  test('a rule is deleted without a look at the catalog', async () => {
    await bound.database.sql.unsafe('alter table public.person add column soon_gone text')
    assert.equal((await putRule(db, 'gone', rule('soon_gone', 'Text'))).status, 201)
    await bound.database.sql.unsafe('alter table public.person drop column soon_gone')
    const { status } = await putRule(db, 'gone', { ...rule('soon_gone', 'Text'), ruleState: 'Disabled' })
    assert.equal(status, 200)
  })

  clause(
    'MASK-202',
    '`GET {db}/tables` lists, in pages and in the order of their names, the tables…',
    async () => {
      const named = async (query = '') =>
        (await send('GET', `${db}/tables?${apiVersion}${query}`)).body.value.map(
          (one: Record<string, string>) => `${one.schemaName}.${one.tableName}`,
        )
      assert.deepEqual(await named(), ['Odd "Schema".a $$ table\\', 'public.part', 'public.person'])
      assert.deepEqual(await named('&search=IC.PER'), ['public.person'])
      assert.deepEqual(await named('&search=%25'), [])
      await putRule(db, 'counted', rule('phone', 'Text'))
      const counted = (await listRules(db)).filter(
        (one: { properties: { tableName: string } }) => one.properties.tableName === 'person',
      )
      const { value } = (await send('GET', `${db}/tables?${apiVersion}&search=person`)).body
      assert.deepEqual(
        { columns: value[0].columnCount, rules: value[0].ruleCount },
        { columns: 24, rules: counted.length },
      )
      await bound.database.sql.unsafe(
        `do $$ begin for i in 1..501 loop execute format('create table public.many_%s (id int)', lpad(i::text, 4, '0')); end loop; end $$`,
      )
      const first = (await send('GET', `${db}/tables?${apiVersion}&search=many_`)).body
      assert.equal(first.value.length, 500)
      const second = (await send('GET', first.nextLink)).body
      assert.deepEqual(
        second.value.map((one: Record<string, string>) => one.tableName),
        ['many_0501'],
      )
      assert.equal(second.nextLink, undefined)
    },
  )

  clause(
    'MASK-208',
    'A `search`, schema or table with the character of the code 0, which no name of PostgreSQL has, is 400.',
    async () => {
      for (const path of [
        'tables?search=a%00b',
        'schemas/pub%00lic/tables/person/columns?',
        'schemas/public/tables/per%00son/columns?',
      ])
        assert.equal((await send('GET', `${db}/${path}&${apiVersion}`)).status, 400, path)
    },
  )

  clause(
    'MASK-203',
    '`GET {db}/schemas/{schema}/tables/{table}/columns` lists the columns of a table…',
    async () => {
      const path = (schema: string, table: string) =>
        `${db}/schemas/${encodeURIComponent(schema)}/tables/${encodeURIComponent(table)}/columns`
      await putRule(db, 'shown', rule('email', 'Text', { prefixSize: '2' }))
      const { value } = (await send('GET', path('public', 'person'))).body
      const column = (name: string) => value.find((one: { columnName: string }) => one.columnName === name)
      assert.equal(column('dropped'), undefined)
      assert.deepEqual(column('email'), {
        columnName: 'email',
        type: 'text',
        isNullable: true,
        isKey: false,
        fittingFunctions: ['Default', 'CCN', 'Email', 'SSN', 'Text'],
        rule: {
          name: 'shown',
          maskingFunction: 'Text',
          numberFrom: null,
          numberTo: null,
          prefixSize: '2',
          suffixSize: null,
          replacementString: null,
        },
      })
      assert.deepEqual([column('id').isKey, column('id').isNullable], [true, false])
      assert.deepEqual(column('price').fittingFunctions, ['Default', 'Number'])
      assert.deepEqual(column('nick').fittingFunctions, ['Default', 'CCN', 'Email', 'SSN', 'Text'])
      assert.equal(
        (await send('GET', path('Odd "Schema"', 'a $$ table\\'))).body.value[0].columnName,
        "col'umn",
      )
      for (const [schema, table] of [
        ['public', 'nothing'],
        ['pg_catalog', 'pg_authid'],
        ['public', 'person_view'],
      ] as const)
        assert.equal((await send('GET', path(schema, table))).body.error.code, 'ResourceNotFound')
    },
  )

  test('a bound database that is down takes rules, and they are pending', async () => {
    const { binding } = (await send('GET', db)).body.properties
    for (const [change, state] of [
      [{ port: 1, password: 'Sesame 1' }, /^Pending$/],
      [{ host: 'localhost', password: 'Sesame 2' }, /^(Pending|Failed)$/],
      [{ database: 'no_such_database', password: 'Sesame 3' }, /^(Pending|Failed)$/],
    ] as const) {
      const down = freshDatabase()
      const answer = await send('PUT', down, { properties: { binding: { ...binding, ...change } } })
      assert.equal(answer.body.properties.connection.state, 'Unreachable')
      assert.doesNotMatch(answer.text, /Sesame/)
      const stored = await putRule(down, 'r', rule('no_such_column', 'Email'))
      assert.equal(stored.status, 201)
      assert.match(stored.headers.get('x-masquerade-enforcement') ?? '', state)
      assert.match((await send('GET', policyUrl(down))).headers.get('x-masquerade-enforcement') ?? '', state)
      assert.doesNotMatch((await send('GET', down)).text, /Sesame/)
    }
  })
})
