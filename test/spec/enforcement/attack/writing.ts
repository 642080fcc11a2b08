import type { Attack } from './attacker.ts'

const hit = /\bhit\b/
const denied = 'DML does not move to twins: they take none'

/** Writing in order to read. The tables can be written by the attacker. */
export const writes: readonly Attack[] = [
  {
    name: 'INSERT RETURNING an old row’s value',
    run: [
      `insert into {S}.customers (id, name) values (900, 'x') returning (select email from {S}.customers where id = 1)`,
    ],
  },
  { name: 'UPDATE RETURNING', run: [`update {S}.customers set name = 'x' where id = 1 returning email`] },
  { name: 'UPDATE RETURNING star', run: [`update {S}.customers set name = 'x' where id = 1 returning *`] },
  {
    name: 'UPDATE RETURNING the whole row',
    run: [`update {S}.customers set name = 'x' where id = 1 returning customers`],
  },
  {
    name: 'RETURNING what was there before',
    run: [`update {S}.customers set email = null where id = 1 returning old.email`],
    since: 18,
  },
  {
    name: 'RETURNING whole rows, old and new',
    run: [`update {S}.customers set name = 'x' where id = 1 returning old, new.*`],
    since: 18,
  },
  {
    name: 'MERGE RETURNING',
    run: [
      `merge into {S}.customers c using (values (1)) v(i) on c.id = v.i when matched then update set name = 'x' returning merge_action(), c.*`,
    ],
    since: 17,
  },
  {
    name: 'MERGE … DELETE RETURNING',
    run: [
      'merge into {S}.customers c using (values (1)) v(i) on c.id = v.i when matched then delete returning c.note',
    ],
    since: 17,
  },
  {
    name: 'a masked column as the key of a conflict',
    run: [
      `insert into {S}.customers (id, name, email) values (950, 'x', 'zqcan' || 'ary-mail@leak.test') on conflict (email) do update set name = 'hit' returning id`,
      `select name from public.customers where id = 1`,
    ],
    tell: hit,
  },
  { name: 'DELETE RETURNING', run: ['delete from {S}.customers where id = 1 returning email'] },
  {
    name: 'RETURNING through a CTE',
    run: ['with d as (delete from {S}.customers where id = 1 returning *) select * from d'],
  },
  {
    name: 'UPDATE into an open column',
    run: [
      'update {S}.customers set name = email where id = 1',
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'UPDATE an open column from a subquery',
    run: [
      'update {S}.customers set name = (select note from {S}.customers where id = 1) where id = 1',
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'UPDATE FROM itself',
    run: [
      'update {S}.customers c set name = o.email from {S}.customers o where o.id = c.id and c.id = 1',
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'UPDATE of several columns at once',
    run: [
      'update {S}.customers set (name, note) = (email, note) where id = 1',
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'ON CONFLICT DO UPDATE',
    run: [
      `insert into {S}.customers (id, name) values (1, 'x') on conflict (id) do update set name = customers.email`,
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'ON CONFLICT … WHERE',
    run: [
      `insert into {S}.customers (id, name) values (1, 'x') on conflict (id) do update set name = 'hit' where customers.email like 'zqc%'`,
      'select name from public.customers where id = 1',
    ],
    tell: hit,
  },
  {
    name: 'ON CONFLICT RETURNING',
    run: [
      `insert into {S}.customers (id, name) values (1, 'x') on conflict (id) do update set name = excluded.name returning email`,
    ],
  },
  {
    name: 'UPDATE WHERE',
    run: [
      `update {S}.customers set name = 'hit' where email like 'zqc%'`,
      `select name from public.customers where name = 'hit'`,
    ],
    tell: hit,
  },
  {
    name: 'DELETE WHERE',
    run: [
      `delete from {S}.customers where salary > 7000000`,
      'select case when count(*) = 0 then $$hit$$ end from public.customers where id = 1',
    ],
    tell: hit,
  },
  {
    name: 'DELETE USING',
    run: [
      `delete from {S}.customers c using (values ('zqc%')) g(p) where c.email like g.p`,
      'select case when count(*) = 0 then $$hit$$ end from public.customers where id = 1',
    ],
    tell: hit,
  },
  {
    name: 'MERGE … THEN UPDATE from the value',
    since: 15,
    run: [
      'merge into {S}.customers c using (values (1)) v(i) on c.id = v.i when matched then update set name = c.email',
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'MERGE … AND',
    since: 15,
    run: [
      `merge into {S}.customers c using (values (1)) v(i) on c.id = v.i when matched and c.email like 'zqc%' then update set name = 'hit'`,
      'select name from public.customers where id = 1',
    ],
    tell: hit,
  },
  {
    name: 'MERGE ON',
    since: 15,
    run: [
      `merge into {S}.customers c using (values ('zqc%')) v(p) on c.email like v.p when matched then update set name = 'hit'`,
      `select name from public.customers where name = 'hit'`,
    ],
    tell: hit,
  },
  {
    name: 'a check constraint that prints the row',
    run: [`update {S}.customers set name = 'forbidden' where id = 1`],
    exempt: [`update public.customers set name = 'forbidden' where id = 1`],
  },
  {
    name: 'a check constraint on a masked column',
    run: [`update {S}.customers set salary = -1 where id = 1`],
  },
  {
    name: 'a NOT NULL constraint that prints the row',
    run: ['update {S}.customers set name = null where id = 1'],
  },
  {
    name: 'a unique violation between rows',
    run: ['update {S}.customers set id = 2 where id = 1'],
    alone: 'PostgreSQL names the key that is doubled, not the row',
  },
  { name: 'DML through a view', run: [`update {S}.v_customers set name = 'x' where id = 1 returning email`] },
  {
    name: 'DML through a view, into an open column',
    run: [
      'update {S}.v_customers set name = email where id = 1',
      'select name from public.customers where id = 1',
    ],
  },
  { name: 'a constraint behind a view', run: [`update {S}.v_customers set name = 'forbidden' where id = 1`] },
  {
    name: 'WHERE CURRENT OF',
    run: [
      'declare c cursor for select id from {S}.customers where id = 1 for update',
      'fetch c',
      'update {S}.customers set name = email where current of c',
      'select name from public.customers where id = 1',
    ],
  },
  {
    name: 'INSERT into the twin',
    run: [`insert into masked_public.customers (id, name) values (901, 'x') returning email`],
    alone: denied,
  },
  {
    name: 'a rule on the twin',
    run: [
      'create rule leak as on insert to {S}.customers do instead select email from public.customers',
      `insert into {S}.customers (id, name) values (902, 'x')`,
    ],
    alone: 'rules are for the owner',
  },
  {
    name: 'a trigger of the attacker’s',
    run: [
      `create function {L}.leak() returns trigger language plpgsql as $$ begin raise notice '%', old; return new; end $$`,
      'create trigger leak before update on {S}.customers for each row execute function {L}.leak()',
      `update {S}.customers set name = 'y' where id = 1`,
    ],
    alone: 'TRIGGER was not granted; where it is, it is reported as an exposure',
  },
  {
    name: 'a foreign key as an oracle',
    run: ['create table {L}.f (e text references {S}.customers (email))'],
    alone: 'REFERENCES was not granted; where it is, it is reported as an exposure',
    tell: /never/,
  },
  {
    name: 'TRUNCATE and LOCK',
    run: ['lock table {S}.customers in access exclusive mode', 'truncate {S}.customers'],
    alone: 'neither returns a value',
  },
  {
    name: 'COPY FROM with a row that fails',
    run: ['copy {S}.customers (id, name) from program $$true$$'],
    alone: 'programs are for pg_execute_server_program',
  },
]
