import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Database } from '../../../src/db/database.ts'
import { useBoundDatabase } from '../../support/bound-database.ts'
import { clause } from '../../support/clause.ts'
import { policyUrl } from '../../support/masking.ts'
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
    'Looking into a database runs no code of its roles and plans no statement over its tables: …',
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
        insert into sandbox.made values (4);
        create type sandbox.numeric as (a text); create type sandbox.mood as enum ('calm');
        create type sandbox.span as range (subtype = int4);
        create table sandbox.typed (pair sandbox.numeric, mood sandbox.mood, span sandbox.span, moods sandbox.mood[]);
        insert into sandbox.typed values (row('x'), 'calm', '[1,3)', '{calm}')`)
      for (const type of ['numeric', 'mood', 'span', 'mood[]'])
        await session.sql.unsafe(`
          create function sandbox.as_text(sandbox.${type}) returns text language sql as $$ select sandbox.trap('x') $$;
          create cast (sandbox.${type} as text) with function sandbox.as_text(sandbox.${type})`)
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
      assert.deepEqual(await valuesOf('typed'), [{ values: ['(x)', 'calm', '[1,3)', '{calm}'] }])
      const found = await recommend()
      assert.equal(found.status, 200, found.text)
      assert.equal(await countSprung(bound().database), 0, 'nothing of it ran')
      await bound().database.transaction(async (tx) => {
        for (const table of ['indexed', 'counted', 'parted'])
          await tx.unsafe(`select * from sandbox.${table}`)
        assert.equal((await tx`select mood::text from sandbox.typed`)[0]?.mood, 'sprung')
        assert.ok((await countSprung({ sql: tx })) > 0, 'the bait works')
        await tx`select pg_advisory_unlock_all()`
      })
    },
  )

  clause(
    'ENF-105',
    'A preview shows stored rules whether or not the policy is on, and a rule sent with the…',
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
      assert.deepEqual(body.rows, [{ values: ['calm', null] }, { values: [null, null] }], text)
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
      'A table that a role replaces or renames while a request looks at it runs no code of that role.',
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
})
