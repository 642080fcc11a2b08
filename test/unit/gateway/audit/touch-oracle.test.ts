import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { createMaskedDatabase } from '../../../support/masked-database.ts'
import { forEachCluster } from '../../../support/postgres.ts'
import { cases } from './touch-cases.ts'
import { statement } from './touch-grammar.ts'
import { maskedRole, touched } from './touch-scene.ts'

const masked = ['customers.email', 'customers.phone', 'staff.email', 'staff.pay', 'people.home']
const tables: Record<string, string[]> = {
  customers: ['id', 'name', 'email', 'phone'],
  staff: ['sid', 'email', 'pay'],
  people: ['id', 'home'],
}

/** More ways to write what a query reads, for PostgreSQL to judge. */
const more = [
  'select c.id from customers c join staff s on s.sid = c.id and s.pay > 1',
  'select id from customers where (name, phone) in (select mail, mail from orders)',
  'select max(c.phone) filter (where c.email is null) from customers c',
  'select id from customers c order by (select c.phone)',
  'select * from customers natural join orders',
  'select * from customers c natural left join (select id from orders) o',
  'select id from (customers cross join orders o(oid)) where email is null',
  'select x.* from (select c from customers c) x',
  'select (x.c).phone from (select c from customers c) x',
  'select c.* is null from customers c',
  'select count(c) from customers c',
  'select count(distinct c.*) from customers c',
  'select coalesce(null, (select s from staff s limit 1))',
  'select array_agg(s order by sid) from staff s',
  'select json_agg(s) from (select * from staff) s',
  'select * from staff union all select sid, email, pay from staff',
  'select 1 from staff where exists (select from customers where customers.email = staff.email)',
  'select 1 from customers where email = any (array(select email from staff))',
  'select * from customers c, lateral (select s.pay from staff s where s.sid = c.id) p',
  'select * from unnest((select array_agg(email) from customers)) e',
  'select grouping(email) from customers group by rollup (email, name)',
  'select lag(phone) over (order by id) from customers',
  'with a(x) as (select pay from staff), b as (select x from a) select x from b',
  'with recursive t(n, m) as (select id, email from customers union all select n + 1, m from t where n < 3) select n from t',
  'select email as name from customers order by name',
  'select name as email from customers group by email, name',
  'update customers set email = email',
  'update staff set pay = pay + 1 where sid = 1 returning pay',
  'update customers c set name = s.email from staff s where s.sid = c.id',
  'delete from staff s using customers c where c.phone = s.email',
  'insert into orders (mail) select email from customers on conflict do nothing',
  'select from people p where (p.home).city is not null',
  'select row_to_json(row(p.*)) from people p',
  'select p.home from people p',
  'select id from only customers where only.id = 1',
]

/** PostgreSQL knows best: who may read all but one column is denied where that one is read. */
forEachCluster((cluster) => {
  describe('what a statement touches, asked of PostgreSQL', () => {
    let target: Awaited<ReturnType<typeof createMaskedDatabase>>
    let client: pg.Client
    before(async () => {
      target = await createMaskedDatabase(cluster)
      await target.database.sql.unsafe(`
        create type public.place as (city text, street text);
        create table public.customers (id int primary key, name text, email text unique, phone text);
        create table public.staff (sid int primary key, email text, pay int);
        create table public.people (id int, home public.place);
        create table public.orders (id int, mail text, x text, email text);
        create schema sales; create table sales.customers (id int, email text);
        create view public.adults as select id, email from public.customers;
        create function public.as_letter(public.customers) returns text language sql immutable return 'Dear ' || $1.name;
        grant usage on schema public, sales to public; grant all on public.orders, sales.customers to public;
        grant insert, update, delete on public.customers, public.staff, public.people to public`)
      client = new pg.Client({ connectionString: target.url })
      await client.connect()
      await client.query('set search_path = public')
      for (const hidden of ['', ...masked]) {
        const role = await target.createRole(hidden)
        for (const [name, columns] of Object.entries(tables)) {
          const shown = columns.filter((column) => `${name}.${column}` !== hidden).join(', ')
          await target.database.sql.unsafe(`grant select (${shown}) on public.${name} to "${role}"`)
        }
      }
    })
    after(async () => {
      await client.end()
      await target[Symbol.asyncDispose]()
    })

    /** Undefined: PostgreSQL does not take the statement at all. */
    async function findDenied(text: string): Promise<string[] | undefined> {
      const denied: string[] = []
      // A role that may read every column and is denied lacks something else.
      for (const hidden of ['', ...masked]) {
        await client.query(`set role "${target.role(hidden)}"`)
        try {
          await client.query(`explain ${text.replace(/\$\d/g, 'null')}`)
        } catch (error) {
          if ((error as pg.DatabaseError).code !== '42501' || hidden === '') return undefined
          denied.push(`public.${hidden}`)
        }
      }
      return denied
    }

    test('the same of statements that nobody thought of', async (t) => {
      let judged = 0
      const texts = fc.sample(statement, { numRuns: 4_000, seed: 20260 })
      const missed: string[] = []
      for (const text of new Set(texts)) {
        const denied = await findDenied(text)
        if (!denied) continue
        judged++
        const found = touched(maskedRole, text)
        for (const column of denied) if (!found.has(column)) missed.push(`${column}: ${text}`)
      }
      t.diagnostic(`${judged} of ${texts.length} judged`)
      assert.deepEqual(missed, [])
      assert.ok(judged >= 80, `${judged} statements judged`)
    })

    test('every column without which a statement is denied is found', async (t) => {
      let judged = 0
      let excess = 0
      const missed: string[] = []
      for (const text of [...cases.map(([each]) => each), ...more]) {
        if (!/^(\(?select|with|values|table|insert|update|delete|merge)/.test(text) || text.includes(';'))
          continue
        const denied = await findDenied(text)
        if (!denied) {
          t.diagnostic(`not judged: ${text}`)
          continue
        }
        judged++
        const found = touched(maskedRole, text)
        excess += [...found].filter((each) => !each.startsWith('>') && !denied.includes(each)).length
        for (const column of denied) if (!found.has(column)) missed.push(`${column}: ${text}`)
      }
      t.diagnostic(`${judged} statements judged, ${excess} columns reported beyond what PostgreSQL asks for`)
      assert.deepEqual(missed, [])
      assert.ok(judged >= 100, `${judged} statements judged`)
    })
  })
})
