import { attacks, hit } from '../attack.ts'

export const writes = attacks('contained', ['ENF-04'], {
  'INSERT RETURNING an old row’s value': `insert into {S}.customers (id, name) values (900, 'x')
    returning (select email from {S}.customers where id = 1)`,
  'UPDATE RETURNING': `update {S}.customers set name = 'x' where id = 1 returning email`,
  'UPDATE RETURNING star': `update {S}.customers set name = 'x' where id = 1 returning *`,
  'UPDATE RETURNING the whole row': `update {S}.customers set name = 'x' where id = 1 returning customers`,
  'RETURNING what was there before': {
    run: `update {S}.customers set email = null where id = 1 returning
    old.email`,
    since: 18,
  },
  'RETURNING whole rows, old and new': {
    run: `update {S}.customers set name = 'x' where id = 1 returning old,
    new.*`,
    since: 18,
  },
  'MERGE RETURNING': {
    run: `merge into {S}.customers c using (values (1)) v(i) on c.id = v.i when matched then
    update set name = 'x' returning merge_action(), c.*`,
    since: 17,
  },
  'MERGE … DELETE RETURNING': {
    run: `merge into {S}.customers c using (values (1)) v(i)
    on c.id = v.i when matched then delete returning c.note`,
    since: 17,
  },
  'a masked column as the key of a conflict': {
    run: `insert into {S}.customers (id, name, email) values (950,
    'x', 'zqcan' || 'ary-mail@leak.test') on conflict (email) do update set name = 'hit' returning id;;
    select name from public.customers where id = 1`,
    tell: hit,
  },
  'DELETE RETURNING': 'delete from {S}.customers where id = 1 returning email',
  'RETURNING through a CTE': 'with d as (delete from {S}.customers where id = 1 returning *) select * from d',
  'UPDATE into an open column': `update {S}.customers set name = email where id = 1;;
    select name from public.customers where id = 1`,
  'UPDATE an open column from a subquery': `update {S}.customers set name = (select note from {S}.customers where
    id = 1) where id = 1;; select name from public.customers where id = 1`,
  'UPDATE FROM itself': `update {S}.customers c set name = o.email from {S}.customers o where o.id = c.id and c.id
    = 1;; select name from public.customers where id = 1`,
  'UPDATE of several columns at once': `update {S}.customers set (name, note) = (email, note) where id = 1;;
    select name from public.customers where id = 1`,
  'ON CONFLICT DO UPDATE': `insert into {S}.customers (id, name) values (1, 'x') on conflict (id)
    do update set name = customers.email;; select name from public.customers where id = 1`,
  'ON CONFLICT … WHERE': {
    run: `insert into {S}.customers (id, name) values (1, 'x') on conflict (id)
    do update set name = 'hit' where customers.email like 'zqc%';; select name from public.customers where id = 1`,
    tell: hit,
  },
  'ON CONFLICT RETURNING': `insert into {S}.customers (id, name) values (1, 'x') on conflict (id)
    do update set name = excluded.name returning email`,
  'UPDATE WHERE': {
    run: `update {S}.customers set name = 'hit' where email like 'zqc%';;
    select name from public.customers where name = 'hit'`,
    tell: hit,
  },
  'DELETE WHERE': {
    run: `delete from {S}.customers where salary > 7000000;;
    select case when count(*) = 0 then $$hit$$ end from public.customers where id = 1`,
    tell: hit,
  },
  'DELETE USING': {
    run: `delete from {S}.customers c using (values ('zqc%')) g(p) where c.email like g.p;;
    select case when count(*) = 0 then $$hit$$ end from public.customers where id = 1`,
    tell: hit,
  },
  'MERGE … THEN UPDATE from the value': {
    run: `merge into {S}.customers c using (values (1)) v(i)
    on c.id = v.i when matched then update set name = c.email;; select name from public.customers where id = 1`,
    since: 15,
  },
  'MERGE … AND': {
    run: `merge into {S}.customers c using (values (1)) v(i) on c.id = v.i when matched and
    c.email like 'zqc%' then update set name = 'hit';; select name from public.customers where id = 1`,
    tell: hit,
    since: 15,
  },
  'MERGE ON': {
    run: `merge into {S}.customers c using (values ('zqc%')) v(p)
    on c.email like v.p when matched then update set name = 'hit';;
    select name from public.customers where name = 'hit'`,
    tell: hit,
    since: 15,
  },
  'a check constraint that prints the row': {
    run: `update {S}.customers set name = 'forbidden' where id = 1`,
    exempt: `update public.customers set name = 'forbidden' where id = 1`,
  },
  'a check constraint on a masked column': 'update {S}.customers set salary = -1 where id = 1',
  'a NOT NULL constraint that prints the row': 'update {S}.customers set name = null where id = 1',
  'a unique violation between rows': {
    run: 'update {S}.customers set id = 2 where id = 1',
    alone: 'PostgreSQL names the key that is doubled, not the row',
  },
  'DML through a view': `update {S}.v_customers set name = 'x' where id = 1 returning email`,
  'DML through a view, into an open column': `update {S}.v_customers set name = email where id = 1;;
    select name from public.customers where id = 1`,
  'a constraint behind a view': `update {S}.v_customers set name = 'forbidden' where id = 1`,
  'WHERE CURRENT OF': `declare c cursor for select id from {S}.customers where id = 1 for update;; fetch c;;
    update {S}.customers set name = email where current of c;; select name from public.customers where id = 1`,
  'INSERT into the twin': {
    run: `insert into masked_public.customers (id, name) values (901, 'x')
    returning email`,
    alone: 'DML does not move to twins: they take none',
  },
  'a rule on the twin': {
    run: `create rule leak as on insert to {S}.customers do instead select email from
    public.customers;; insert into {S}.customers (id, name) values (902, 'x')`,
    alone: 'rules are for the owner',
  },
  'a trigger of the attacker’s': {
    run: `create function {L}.leak() returns trigger language plpgsql as $$ begin
    raise notice '%', old; return new; end $$;; create trigger leak before update on {S}.customers for each row
    execute function {L}.leak();; update {S}.customers set name = 'y' where id = 1`,
    alone: 'TRIGGER was not granted; where it is, it is reported as an exposure',
  },
  'a foreign key as an oracle': {
    run: 'create table {L}.f (e text references {S}.customers (email))',
    tell: /never/,
    alone: 'REFERENCES was not granted; where it is, it is reported as an exposure',
  },
  'TRUNCATE and LOCK': {
    run: 'lock table {S}.customers in access exclusive mode;; truncate {S}.customers',
    alone: 'neither returns a value',
  },
  'COPY FROM with a row that fails': {
    run: 'copy {S}.customers (id, name) from program $$true$$',
    alone: 'programs are for pg_execute_server_program',
  },
  'ON CONFLICT DO UPDATE RETURNING old': {
    run: `insert into {S}.customers (id, name) values (1, 'x')
    on conflict (id) do update set name = 'y' returning old.email, new.note`,
    since: 18,
  },
  'RETURNING old and new under other names': {
    run: `update {S}.customers set name = 'x' where id = 1 returning
    with (old as o, new as n) o.email, n`,
    since: 18,
  },
  'DELETE RETURNING old': { run: 'delete from {S}.customers where id = 1 returning old', since: 18 },
  'MERGE RETURNING old and new': {
    run: `merge into {S}.customers c using (values (1)) v(i)
    on c.id = v.i when matched then update set name = 'x' returning old.email, new.note`,
    since: 18,
  },
  'MERGE without a source': {
    run: `merge into {S}.customers c using (values (0)) v(i)
    on c.id = v.i when not matched by source and c.email like 'zqc%' then update set name = 'hit';;
    select name from public.customers where id = 1`,
    tell: hit,
    since: 17,
  },
  'MERGE that inserts what it reads': {
    run: `merge into {S}.customers c using (select id + 800 as i,
    note from {S}.customers where id = 1) s on c.id = s.i when not matched then insert (id, name) values (s.i,
    s.note);; select name from public.customers where id = 801`,
    since: 15,
  },
  'a conflict by the name of a constraint': {
    run: `insert into {S}.customers (id, name, email) values (950,
    'x', 'zqcan' || 'ary-mail@leak.test') on conflict on constraint customers_email_key do update set name = 'hit';;
    select name from public.customers where id = 1`,
    tell: hit,
  },
  'INSERT … SELECT RETURNING': `insert into {S}.customers (id, name) select id + 700,
    email from {S}.customers where id = 1 returning name`,
  'UPDATE RETURNING a subquery': `update {S}.customers set name = 'x' where id = 2 returning (select email from
    {S}.customers where id = 1)`,
  'UPDATE RETURNING another row': `update {S}.customers c set name = 'x' from {S}.customers o where c.id = 2 and
    o.id = 1 returning o.email`,
  'UPDATE in the order of values': {
    run: `update {S}.customers set name = 'hit' where id = (select id from
    {S}.customers where salary > 200 order by salary desc nulls last limit 1);;
    select name from public.customers where id = 1`,
    tell: hit,
  },
  'DELETE in a CTE with a condition': {
    run: `with d as (delete from {S}.customers where note ~ '^zqc' returning
    id) select 'hit' from d`,
    tell: hit,
  },
  'COPY of UPDATE RETURNING': `copy (update {S}.customers set name = 'x' where id = 1 returning *) to stdout`,
  'COPY of DELETE RETURNING': 'copy (delete from {S}.customers where id = 1 returning note) to stdout',
  'UPDATE ONLY … RETURNING': `update only {S}.customers set name = 'x' where id = 1 returning email`,
  'a row moved to another partition': 'update {S}.orders set id = 150 where id = 1 returning phone',
  'a row that no partition takes': {
    run: 'update {S}.orders set id = 900 where id = 1 returning phone',
    alone: 'PostgreSQL prints the key of the partition alone',
  },
  'a check option that prints the row': `create view {L}.v as select * from {S}.customers where id < 5 with check
    option;; update {L}.v set id = 900 where id = 1`,
  'a row policy that refuses the row':
    'update {S}.policed set id = 5 where id = 1;; select word from {S}.policed',
  'a generated column in RETURNING': {
    run: 'update {S}.computed set id = 2 returning twice',
    alone: 'not to be written',
  },
  'UPDATE of a field of a row': {
    run: `update {S}.computed set home.town = 'x' returning (home).street`,
    alone: 'not to be written',
  },
  'a foreign key on a child of the attacker’s': {
    run: `create table {L}.f (id int references public.customers
    (id) on delete cascade)`,
    denied: true,
  },
  'INSERT … ON CONFLICT with the twin': {
    run: `insert into masked_public.customers (id, name) values (1, 'x')
    on conflict (id) do update set name = 'y' returning *`,
    alone: 'DML does not move to twins: they take none',
  },
})
