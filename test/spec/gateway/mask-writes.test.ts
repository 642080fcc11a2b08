import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type pg from 'pg'
import { readMaskVersion } from '../../../src/masks/read/mask-version.ts'
import { clause } from '../../support/clause.ts'
import { useGateway } from '../../support/gateway.ts'
import { forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const raw = [
  { id: 1, email: 'ann@example.com' },
  { id: 2, email: 'bob@example.com' },
]
const copies = [
  'insert into notes (body) select email from customers',
  'insert into notes (body) select s.e from (select email as e from customers) s',
  'insert into notes (body) select email from adults',
  'with c as (select * from customers) insert into notes (body) select email from c',
  "insert into notes (id, body) values (1, 'x') on conflict (id) do update set body = (select max(email) from customers)",
  'update customers set name = s.email from customers s where s.id = customers.id',
  'insert into notes (body) select (c).email from customers c',
  "insert into notes (body) select to_jsonb(c) ->> 'email' from customers c",
  'insert into notes (body) select name from customers union all select email from customers',
  'insert into notes (body) select email from masked_public.customers',
  'create table copied as select * from customers',
  'select email into copied from customers',
  'create materialized view copied as select email from customers',
  'explain analyze insert into notes (body) select email from customers',
  'prepare p as insert into notes (body) select email from customers',
  "insert into notes (body) values ('before'); insert into notes (body) select email from customers",
]
const overwriting = [
  'update customers set email = s.email from customers s where s.id = customers.id',
  'update customers set email = (select email from customers c where c.id = customers.id)',
  'update only public.customers c set (name, email) = (select s.name, s.email from customers s where s.id = c.id)',
  'insert into customers (id, email) select id + 10, email from customers',
  'insert into customers (id, email) select id, email from customers on conflict (id) do nothing',
  'with m as (select id, email from customers) update customers set email = m.email from m where m.id = customers.id',
]
const harmless = [
  'create temp table plain (m text)',
  'insert into plain select email from customers',
  'create temporary table twice (m text); insert into twice select email from customers',
  "update customers set name = 'ann' where id in (select id from customers where email like 'a%')",
  "insert into notes (body) select name from customers where email like 'a%'",
  'insert into notes (body) select count(email)::text from customers',
  "insert into notes (body) select 'x' from adults where email is null",
  'create temp table kept as select * from customers',
  'insert into kept select * from customers',
  'select id, email into temp kept_too from customers',
  'create view seen as select email from customers',
  'drop view seen',
]

forEachCluster((cluster) => {
  describe('masks that statements would store', () => {
    const gateway = useGateway({}, cluster)
    let client: pg.Client
    before(async () => {
      client = await gateway.connect('analyst')
    })
    const readRaw = () => gateway.masked().database.sql`select id, email from public.customers order by id`
    const isRefused = (column: string) => (error: pg.DatabaseError) => {
      assert.equal(error.code, '42501', error.message)
      assert.match(error.message, new RegExp(`^masked values of ${column} cannot be stored in `))
      assert.match(error.hint ?? '', /^Leave the column out of the statement/)
      assert.equal(error.severity, 'ERROR')
      assert.equal(error.position, undefined)
      return true
    }

    clause(
      'GATE-92',
      'A statement of a masked role that would store what it reads from a masked column fails with 42501, …',
      async () => {
        const { sql } = gateway.masked().database
        const refused = isRefused('public\\.customers\\.email')
        for (const text of [...copies, ...overwriting]) {
          await assert.rejects(client.query(text), refused, text)
          await assert.rejects(client.query({ text, values: [] }), refused, text)
        }
        const named = {
          name: 'n',
          text: 'update customers set email = s.email from customers s where s.id = $1',
        }
        await assert.rejects(client.query({ ...named, values: [1] }), refused)
        await assert.rejects(
          client.query({
            text: 'insert into notes (body) select email from customers where id = $1',
            values: [1],
          }),
          refused,
        )
        assert.deepEqual([...(await readRaw())], raw)
        assert.deepEqual([...(await sql`select body from public.notes`)], [])

        // The session goes on, and a transaction ends as after any error.
        await client.query('begin')
        await client.query("insert into notes (body) values ('lost')")
        await assert.rejects(client.query(overwriting[0] ?? ''), refused)
        await assert.rejects(client.query('select 1'), { code: '25P02' })
        await client.query('rollback')
        for (const text of harmless) await client.query(text)
        const kept = await client.query('select email from kept order by id')
        assert.deepEqual(kept.rows[0], { email: 'aXXX@XXXX.com' })
        assert.deepEqual([...(await readRaw())], raw)
        assert.equal((await sql`select 1 from public.notes where body like '%@%'`).length, 0)
        const error = (await client.query('selec 1').catch((reason) => reason)) as pg.DatabaseError
        assert.equal(error.code, '42601')
      },
    )

    test('a view over a twin counts soon after it was made, or made another one', async () => {
      await client.query('create view recent as select null::text as e')
      await client.query('insert into notes (body) select e from recent where e is not null')
      const { sql } = gateway.masked().database
      const known = await readMaskVersion(sql)
      await client.query('create or replace view recent as select email as e from customers')
      assert.notEqual(await readMaskVersion(sql), known)
      for (const text of [
        'insert into notes (body) select e from recent',
        'update customers set email = r.e from recent r',
      ])
        await waitUntil('masks of the new view are refused', async () => {
          await client.query('begin')
          const isDone = await client.query(text).then(
            () => true,
            (error: pg.DatabaseError) => !isRefused('public\\.customers\\.email')(error),
          )
          await client.query('rollback')
          return !isDone
        })
      await client.query('drop view recent')
      assert.deepEqual([...(await readRaw())], raw)
    })

    test('an exempt role stores what it reads', async () => {
      const exempt = await gateway.connect('auditor')
      const { sql } = gateway.masked().database
      await sql.unsafe(`grant insert on public.notes to "${gateway.masked().role('auditor')}";
        grant usage on sequence public.notes_id_seq to "${gateway.masked().role('auditor')}"`)
      await exempt.query('insert into notes (body) select email from customers where id = 1')
      assert.equal((await sql`select 1 from public.notes where body = 'ann@example.com'`).length, 1)
      assert.equal((await sql`select 1 from public.notes where body = 'before'`).length, 0)
    })
  })
})

describe('masks that may be copied', () => {
  const gateway = useGateway({ MASQUERADE_GATEWAY_MASKED_COPIES: '1' })

  clause(
    'GATE-91',
    'With `MASQUERADE_GATEWAY_MASKED_COPIES`, masked roles may store masks in tables and columns that have no mask, …',
    async () => {
      const client = await gateway.connect('analyst')
      await client.query('insert into notes (body) select email from customers')
      await client.query('create table copied as select * from customers')
      const { rows } = await client.query('select body from notes order by body')
      assert.deepEqual(rows, [{ body: 'aXXX@XXXX.com' }, { body: 'bXXX@XXXX.com' }])
      for (const text of overwriting) await assert.rejects(client.query(text), { code: '42501' }, text)
      const kept = await gateway.masked().database.sql`select id, email from public.customers order by id`
      assert.deepEqual([...kept], raw)
    },
  )
})
