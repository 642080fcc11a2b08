import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { rewriteText } from '../../../../src/gateway/rewrite/rewrite.ts'
import { exemptRole, maskedRole } from '../audit/touch-scene.ts'

/** A statement of a masked role, and the masked column whose masks it would store; none: it passes. */
const cases: readonly (readonly [text: string, column: string])[] = [
  ['update customers set email = s.email from customers s where s.id = customers.id', 'email'],
  ['update customers set name = s.email from customers s where s.id = customers.id', 'email'],
  ['update customers set name = s.name from customers s where s.email = $1', ''],
  ['update customers set name = (select phone from customers c limit 1)', 'phone'],
  ['update customers set name = (select name from customers c where c.phone is null)', ''],
  ['update orders set (x, mail) = (select name, phone from customers limit 1)', 'phone'],
  ['update orders set x = case when exists (select email from customers) then 1 end', ''],
  ['update orders set x = lower(c.email) || $1 from customers c', 'email'],
  ['update orders set x = (select count(email) from customers)', ''],
  ['update orders set x = (select email is null from customers limit 1)', ''],
  ['update orders set x = u from customers c, upper(c.email) u', 'email'],
  ['insert into orders (mail) select email from customers', 'email'],
  ['insert into orders (id) select id from customers where email like $1 order by phone', ''],
  ['insert into orders select * from customers', 'email'],
  ['insert into orders table customers', 'email'],
  ['insert into orders (x) select c::text from customers c', 'email'],
  ['insert into orders (id) select s.id from (select * from customers) s', ''],
  ['insert into orders (mail) select s.email from (select * from customers) s', 'email'],
  ['insert into orders (mail) select a from (select id, phone from customers) s (b, a)', 'phone'],
  ['insert into orders (mail) select b from (select id, phone from customers) s (b, a)', ''],
  ['insert into orders (mail) select name from customers union select phone from customers', 'phone'],
  ['insert into orders (mail) values ($1), ((select email from customers limit 1))', 'email'],
  [
    'insert into orders (id) values (1) on conflict (id) do update set mail = (select email from customers)',
    'email',
  ],
  [
    'insert into customers (id, email) values (1, $1) on conflict (id) do update set email = excluded.email',
    '',
  ],
  ['with c as (select * from customers) insert into orders (id) select id from c', ''],
  ['with c as (select * from customers) insert into orders (mail) select email from c', 'email'],
  ['with c (a, b) as (select id, email from customers) insert into orders (mail) select b from c', 'email'],
  ['with c (a, b) as (select id, email from customers) insert into orders (mail) select a from c', ''],
  [
    'with recursive t as (select * from customers union all select * from t) insert into orders (mail) select email from t',
    'email',
  ],
  ['with x as (insert into orders (mail) select phone from customers returning id) select * from x', 'phone'],
  [
    'with x as (update orders set id = 1 returning (select email from customers limit 1) as e) insert into orders (mail) select e from x',
    'email',
  ],
  [
    'merge into orders o using customers c on c.id = o.id when matched then update set mail = c.email',
    'email',
  ],
  ['merge into orders o using customers c on c.email = o.mail when matched then update set x = c.name', ''],
  [
    'merge into orders o using customers c on c.id = o.id when not matched then insert (mail) values (c.phone)',
    'phone',
  ],
  ['merge into orders o using customers c on c.id = o.id when matched and c.phone is null then delete', ''],
  ['create table x as select email from customers', 'email'],
  ['create table x as select id from customers where phone > $1', ''],
  ['select id, phone into x from customers', 'phone'],
  ['select 1 into x union select length(phone) from customers', 'phone'],
  ['create materialized view x as table customers', 'email'],
  ['create view x as table customers', ''],
  ['create temp table x as table customers', ''],
  ['select * into temp x from customers', ''],
  ['create temp table x (a text); insert into x select email from customers', ''],
  ['insert into pg_temp.x select email from customers', ''],
  ['copy (select * from customers) to stdout', ''],
  ['copy customers from stdin', ''],
  ['prepare p as insert into orders (mail) select email from customers', 'email'],
  ['explain analyze insert into orders (mail) select email from customers', 'email'],
  ['select 1; insert into orders (mail) select email from customers', 'email'],
  ['insert into orders (mail) select email from masked_public.customers', 'email'],
  ['insert into orders (mail) select email from adults', 'email'],
  ['insert into orders (mail) select email from orders', ''],
  ['insert into orders (mail) select email from sales.customers', ''],
  ['update customers set name = email', ''],
  ['delete from orders using customers c where c.email = orders.mail', ''],
]

const names = { database: 'shop', path: ['public'], hidden: new Set<string>() }
const refuse = (text: string, masks = maskedRole, allowsCopies = false) =>
  rewriteText(Buffer.from(text), { ...names, masks, allowsCopies }).refusal

describe('masks that a statement would store', () => {
  for (const [text, column] of cases)
    test(text, () => {
      const refusal = refuse(text)
      assert.equal(
        /masked values of public\.customers\.(\w+)/.exec(refusal?.message ?? '')?.[1] ?? '',
        column,
      )
    })

  test('a refused text becomes one that PostgreSQL cannot parse', () => {
    const { splices, nameChanges } = rewriteText(
      Buffer.from('set search_path = x; insert into orders select * from public.customers'),
      { ...names, masks: maskedRole },
    )
    assert.deepEqual(
      splices.map(({ from, to, text }) => [from, to, text.toString()]),
      [[0, 0, '! ']],
    )
    assert.deepEqual(nameChanges, [])
  })

  test('an exempt role reads no masks', () => {
    for (const [text] of cases) assert.equal(refuse(text, exemptRole), undefined)
  })

  test('where copies are allowed, a masked column still takes none', () => {
    for (const text of [
      'insert into orders (mail) select email from customers',
      'create table x as table customers',
      'update customers set name = s.email from customers s',
      'insert into customers (id, name) select id, phone from customers',
      'insert into customers select id, email from customers',
    ])
      assert.equal(refuse(text, maskedRole, true), undefined, text)
    for (const text of [
      'update customers set email = s.email from customers s',
      'insert into customers (id, phone) select id, email from customers',
      'insert into customers select * from customers',
      'insert into customers select id, name, email from customers',
      'insert into masked_public.customers select * from customers',
      'insert into adults select id, email from customers',
      'merge into customers c using staff s on true when matched then update set phone = s.email',
    ])
      assert.equal(refuse(text, maskedRole, true)?.sqlstate, '42501', text)
  })
})
