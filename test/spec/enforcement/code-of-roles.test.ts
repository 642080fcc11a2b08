import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { reconcile } from '../../../src/enforcement/reconcile.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { createMaskedDatabase, policy, rule } from '../../support/masked-database.ts'
import { policyUrl } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Notes, by an advisory lock that stays with its session, that it ran as another role than its owner. */
const writeTrap = (owner: string) => `
  create function sandbox.trap(text) returns text language plpgsql immutable as $$ begin
    if current_user <> '${owner}' then perform pg_catalog.pg_advisory_lock(170); end if; return 'sprung'; end $$`

async function countSprung({ sql }: Pick<Database, 'sql'>): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_locks where locktype = 'advisory' and objid = 170
      and database = (select oid from pg_database where datname = current_database())`
  return row?.count ?? 0
}

async function isWaitedFor({ sql }: Pick<Database, 'sql'>): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`
    select exists (select from pg_locks where locktype = 'relation' and not granted
      and database = (select oid from pg_database where datname = current_database())) as waits`
  return row?.waits === true
}

/** The database, with another session at work before each statement that is sent as text. */
function betweenStatements(database: Database, act: (text: string) => Promise<void>): Database {
  return {
    ...database,
    transaction: (run) =>
      database.transaction((tx) =>
        run(
          new Proxy(tx, {
            get: (of, name, receiver) =>
              name === 'unsafe'
                ? async (text: string) => {
                    await act(text)
                    return await tx.unsafe(text)
                  }
                : Reflect.get(of, name, receiver),
          }),
        ),
      ),
  }
}

/** Renaming a schema takes it. */
async function grantCreate({ sql }: Pick<Database, 'sql'>, role: string): Promise<void> {
  const [row] = await sql<{ name: string }[]>`select current_database()::text as name`
  await sql.unsafe(`grant create on database "${row?.name}" to "${role}"`)
}

describe('code of roles in a bound database', () => {
  const { masking, db, bound } = useBoundDatabase()
  const preview = (schemaName: string, tableName: string) =>
    masking.send('POST', `${policyUrl(db)}/preview`, { schemaName, tableName })
  const recommend = () => masking.send('GET', `${policyUrl(db)}/recommendations`)

  async function makeSandbox(): Promise<Database> {
    const { sql } = bound().database
    const analyst = bound().role('analyst')
    await sql.unsafe(`drop schema if exists sandbox cascade;
      create schema sandbox; grant all on schema sandbox to "${analyst}"`)
    const session = bound().connectAs('analyst')
    await session.sql.unsafe(writeTrap(analyst))
    return session
  }

  clause(
    'ENF-170',
    'Looking into a database plans no statement over its tables: rows are read by COPY, as text, …',
    async () => {
      const session = await makeSandbox()
      await session.sql.unsafe(`
        create table sandbox.indexed (id int, email text, is_set boolean, code char(6), tags text[]);
        insert into sandbox.indexed values (1, E'tab\\there\\\\and\\nline', true, 'ab', '{a,"b c"}'), (2, null, null, null, null);
        create index on sandbox.indexed ((email || sandbox.trap('x')));
        create index on sandbox.indexed (id) where sandbox.trap('x') = 'sprung';
        create table sandbox.counted (id int, email text); insert into sandbox.counted values (1, 'x@example.com');
        create statistics sandbox.counts on (email || sandbox.trap('x')), id from sandbox.counted;
        create table sandbox.parted (id int, email text) partition by list ((email || sandbox.trap('x')));
        create table sandbox.part partition of sandbox.parted default;
        insert into sandbox.parted values (1, 'part@example.com');
        create table sandbox.made (id int, twice int generated always as (id * 2) stored);
        insert into sandbox.made values (4)`)
      const { body, status, text } = await preview('sandbox', 'indexed')
      assert.equal(status, 200, text)
      assert.deepEqual(body.rows, [
        { values: ['1', 'tab\there\\and\nline', 'true', 'ab', '{a,"b c"}'] },
        { values: ['2', null, null, null, null] },
      ])
      assert.equal(await countSprung(bound().database), 0, 'nothing of it ran')
      const valuesOf = async (table: string) => (await preview('sandbox', table)).body.rows
      assert.deepEqual(await valuesOf('counted'), [{ values: ['1', 'x@example.com'] }])
      assert.deepEqual(await valuesOf('parted'), [{ values: ['1', 'part@example.com'] }])
      assert.deepEqual(await valuesOf('made'), [{ values: ['4', null] }])
      const found = await recommend()
      assert.equal(found.status, 200, found.text)
      assert.equal(await countSprung(bound().database), 0, 'nothing of it ran')
      await bound().database.transaction(async (tx) => {
        for (const table of ['indexed', 'counted', 'parted'])
          await tx.unsafe(`select * from sandbox.${table}`)
        assert.ok((await countSprung({ sql: tx })) > 0, 'the bait works')
        await tx`select pg_advisory_unlock_all()`
      })
    },
  )

  clause(
    'ENF-338',
    'A preview shows a masked column of an enum as its twin does: by the first label.',
    async () => {
      const session = await makeSandbox()
      await session.sql.unsafe(`create type sandbox.mood as enum ('calm', 'raw'); create domain sandbox.feeling as sandbox.mood
          check (value is not null);
        create table sandbox.felt (mood sandbox.mood, feeling sandbox.feeling);
        insert into sandbox.felt values ('raw', 'raw'), (null, 'raw')`)
      for (const columnName of ['mood', 'feeling']) {
        const felt = { schemaName: 'sandbox', tableName: 'felt', columnName, maskingFunction: 'Default' }
        const put = await masking.putRule(db, columnName, felt)
        assert.equal(put.status, 201, put.text)
      }
      const { body, text } = await preview('sandbox', 'felt')
      assert.deepEqual(body.rows, [{ values: ['calm', 'calm'] }, { values: [null, 'calm'] }], text)
      for (const name of ['mood', 'feeling']) await masking.send('DELETE', `${policyUrl(db)}/rules/${name}`)
    },
  )

  for (const [kind, swap] of [
    ['view', "create view sandbox.swap as select 1 as id, sandbox.trap('x') as email"],
    [
      'type',
      `create type sandbox.mood as enum ('calm');
       create function sandbox.as_text(sandbox.mood) returns text language sql as $$ select sandbox.trap('x') $$;
       create cast (sandbox.mood as text) with function sandbox.as_text(sandbox.mood);
       create table sandbox.swap (id int, email sandbox.mood); insert into sandbox.swap values (1, 'calm')`,
    ],
  ] as const)
    clause(
      'ENF-171',
      'A table that a role replaces or renames while a request looks at it runs no code of that role, …',
      async () => {
        const session = await makeSandbox()
        await session.sql.unsafe('create table sandbox.swap (id int, email text)')
        for (const look of [() => preview('sandbox', 'swap'), recommend]) {
          let answer: Promise<unknown> | undefined
          await session.transaction(async (tx) => {
            await tx.unsafe(`drop table if exists sandbox.swap; ${swap}`)
            answer = look()
            await waitUntil('the look waits', () => isWaitedFor(bound().database), { everyMs: 5 })
          })
          await answer
          assert.equal(await countSprung(bound().database), 0, 'nothing of it ran')
          await session.sql.unsafe(`drop ${kind === 'view' ? 'view' : 'table'} sandbox.swap;
            drop type if exists sandbox.mood cascade; create table sandbox.swap (id int, email text)`)
        }
      },
    )

  clause(
    'ENF-171',
    'A table that a role replaces or renames while a request looks at it runs no code of that role, whether …',
    async () => {
      const { sql } = bound().database
      const analyst = bound().role('analyst')
      await grantCreate(bound().database, analyst)
      await sql.unsafe(`create schema one authorization "${analyst}"; create schema two authorization "${analyst}";
        create table two.person (id int, email text); insert into two.person values (1, 'zelda@secret-mail.com');
        create table one.person (id int, email text)`)
      const put = await masking.putRule(db, 'two', {
        schemaName: 'two',
        tableName: 'person',
        columnName: 'email',
        maskingFunction: 'Email',
      })
      assert.equal(put.status, 201, put.text)
      let answer: ReturnType<typeof preview> | undefined
      await bound()
        .connectAs('analyst')
        .transaction(async (tx) => {
          await tx.unsafe(
            'drop table one.person; alter schema one rename to three; alter schema two rename to one',
          )
          answer = preview('one', 'person')
          await waitUntil('the look waits', () => isWaitedFor(bound().database), { everyMs: 5 })
        })
      const shown = await answer
      assert.ok(shown && !shown.text.includes('zelda'), shown?.text)
      await masking.send('DELETE', `${policyUrl(db)}/rules/two`)
    },
  )
})

describe('code of roles while masks are made', () => {
  clause(
    'ENF-172',
    'Checks of a domain are run as the text that was judged harmless, never by a cast to the domain…',
    async () => {
      await using target = await createMaskedDatabase()
      const owner = await target.createRole('owner')
      const { sql } = target.database
      await sql.unsafe(`create schema sandbox authorization "${owner}";
        create table public.person (id int, email text); grant select on public.person to "${owner}"`)
      const { sql: own } = target.connectAs('owner')
      await own.unsafe(`${writeTrap(owner)};
        create domain sandbox.calm as text check (value <> 'never' and length('value') > 1);
        create table sandbox.bait (lure sandbox.calm)`)
      let changes = 0
      await reconcile(
        betweenStatements(target.database, async (text) => {
          if (!/^select/i.test(text) || changes++ > 0) return
          await own.unsafe("alter domain sandbox.calm add check (sandbox.trap(value) = 'sprung')")
        }),
        policy([rule('public.person.email'), rule('sandbox.bait.lure')]),
      )
      assert.equal(changes > 0, true, 'the domain was changed after it was judged')
      assert.equal(await countSprung(target.database), 0)
      await sql.unsafe("select 'XXXX'::sandbox.calm")
      assert.equal(await countSprung(target.database), 1, 'the bait works')
    },
  )

  clause(
    'ENF-335',
    'A check of a domain is run only where every part of its stored expression is known to run nothing but the …',
    async () => {
      await using target = await createMaskedDatabase()
      const owner = await target.createRole('owner')
      const { sql } = target.database
      await sql.unsafe(`create schema sandbox authorization "${owner}"`)
      // PostgreSQL records no dependency on the type that RETURNING names, and runs its checks whenever the value is made.
      await target.runAs(
        'owner',
        `${writeTrap(owner)};
          create domain sandbox.inner as text check (sandbox.trap(value) = 'sprung');
          create domain sandbox.outer as text check (json_value('"x"'::jsonb, '$' returning sandbox.inner) is not null);
          create domain sandbox.quoted as text
            check (json_query('{"a": 1}'::jsonb, '$.a' returning sandbox.inner with wrapper) is not null);
          create domain sandbox.calm as text check (value in ('{JSONEXPR', 'XXXX'));
          create table sandbox.bait (lure sandbox.outer, other sandbox.quoted, calm sandbox.calm);
          insert into sandbox.bait values (null, null, '{JSONEXPR')`,
      )
      await reconcile(
        target.database,
        policy(['lure', 'other', 'calm'].map((column) => rule(`sandbox.bait.${column}`))),
      )
      assert.equal(await countSprung(target.database), 0)
      const [row] = await sql`select lure, other, calm from masked_sandbox.bait`
      assert.deepEqual(row, { lure: null, other: null, calm: 'XXXX' })
      await sql.unsafe("select 'XXXX'::sandbox.outer")
      assert.equal(await countSprung(target.database), 1, 'the bait works')
    },
  )

  forEachCluster((cluster) => {
    clause(
      'ENF-368',
      'A check of a domain is run only where every number of an object in its stored expression is of an object of PostgreSQL itself…',
      async () => {
        await using target = await createMaskedDatabase(cluster)
        const owner = await target.createRole('owner')
        const { sql } = target.database
        await sql.unsafe(`create schema sandbox authorization "${owner}"`)
        // PostgreSQL records no dependency on the type of an empty array, nor on those of what is read from it.
        const hidden = [
          '((array[]::sandbox.tag[])[1])::text is null',
          'array_length(array[]::sandbox.tag[], 1) is null',
          '(array[]::sandbox.tag[])::text[] is not null',
          '((array[]::sandbox.name[])[1])::text is null',
        ]
        await target.runAs(
          'owner',
          `create type sandbox.tag as enum ('a'); create domain sandbox.name as text;
            ${hidden.map((check, at) => `create domain sandbox.d${at} as text check (${check})`).join('; ')};
            create domain sandbox.below as sandbox.name check (length(value) < 9);
            create domain sandbox.label as sandbox.tag check (value is not null and value::text <> 'b');
            create domain sandbox.labels as sandbox.tag[]
              check (cardinality(value) < 9 and (value[1] is not null or value is not null) and (value[1]::text = 'a') is not false);
            create domain sandbox.names as sandbox.name[] check (length(value[1]) > 2 or value[2:3] is not null);
            create domain sandbox.above as sandbox.labels check (value[1]::text is null);
            -- The texts of these name the type of the role.
            create domain sandbox.nested as sandbox.labels check (value[cardinality(value)]::text is null);
            create domain sandbox.cast as sandbox.tag[] check (value[1:2]::text[] is not null);
            create table sandbox.bait (${hidden.map((_, at) => `v${at} sandbox.d${at}`).join()}, below sandbox.below, label sandbox.label,
              labels sandbox.labels, names sandbox.names, above sandbox.above, nested sandbox.nested, "cast" sandbox.cast);
            insert into sandbox.bait values (${hidden.map(() => "'raw'").join()}, 'raw', 'a', '{a}', '{raw}', '{}', '{}', '{a}');
            ${writeTrap(owner)};
            create function sandbox.spring(sandbox.tag) returns text language sql as $$ select sandbox.trap('x') $$;
            create cast (sandbox.tag as text) with function sandbox.spring(sandbox.tag)`,
        )
        const columns = [
          ...hidden.map((_, at) => `v${at}`),
          ...['below', 'label', 'labels', 'names', 'above', 'nested', 'cast'],
        ]
        await reconcile(target.database, policy(columns.map((column) => rule(`sandbox.bait.${column}`))))
        assert.equal(await countSprung(target.database), 0)
        const arrays =
          'labels::text as labels, names::text as names, above::text as above, nested::text as nested, "cast"::text as "cast"'
        const [row] = await sql.unsafe(
          `select ${columns.slice(0, -5).join()}, ${arrays} from masked_sandbox.bait`,
        )
        assert.deepEqual(Object.values(row ?? {}), [
          ...hidden.map(() => null),
          ...['XXXX', 'a', '{}', '{}', '{}', null, null],
        ])
        await sql.unsafe("select 'a'::sandbox.tag::text")
        assert.equal(await countSprung(target.database), 1, 'the bait works')
      },
    )
  })
})
