/** What a client writes, and what the database gets. `=`: the same text. */
export const cases: readonly (readonly [written: string, sent: string])[] = [
  // Reads
  ['select * from public.customers', 'select * from "masked_public"."customers"'],
  ['select * from customers', 'select * from "masked_public"."customers"'],
  ['SELECT * FROM PUBLIC.Customers', 'SELECT * FROM "masked_public"."customers"'],
  ['select * from "public"."customers" c', 'select * from "masked_public"."customers" c'],
  ['select * from "Customers"', '='],
  ['select * from "PUBLIC".customers', '='],
  ['select * from only public.customers', 'select * from only "masked_public"."customers"'],
  ['select * from only (public.customers)', 'select * from only ("masked_public"."customers")'],
  ['select * from public.customers *', 'select * from "masked_public"."customers" *'],
  ['table public.customers', 'table "masked_public"."customers"'],
  ['table customers', 'table "masked_public"."customers"'],
  ['select * from shop.public.customers', 'select * from "masked_public"."customers"'],
  ['select * from other.public.customers', '='],
  ['select * from public.orders', '='],
  ['select * from sales.customers', '='],
  ['select customers from orders', '='],
  ["select 'public.customers', $$customers$$, $x$from customers$x$", '='],
  ["select E'it\\'s customers' from orders -- from customers", '='],
  ['select 1 /* from public.customers /* nested customers */ */', '='],
  [
    'select 1 from /* x */ public /* y */ . -- z\n customers',
    'select 1 from /* x */ "masked_public"."customers"',
  ],
  ['select 1 from public\n.\tcustomers\nwhere true', 'select 1 from "masked_public"."customers"\nwhere true'],
  ['select 1 from U&"\\0063ustomers"', 'select 1 from "masked_public"."customers"'],
  ['select 1 from public.u&"c!0075stomers" uescape \'!\' c', 'select 1 from "masked_public"."customers" c'],
  ['select 1 from U&"publi\\0063" UESCAPE \'\\\' .customers', 'select 1 from "masked_public"."customers"'],
  [
    "select 'äöü€😀', email from public.customers",
    'select \'äöü€😀\', email from "masked_public"."customers"',
  ],
  ['select * from sales."Kunden Döner"', 'select * from "masked_sales"."Kunden Döner"'],
  ['select * from sales."q""uote"', 'select * from "masked_sales"."q""uote"'],
  ['select * from "Kunden Döner"', '='],
  ['select * from public.customers tablesample system (10)', '='],
  ['select * from public.adults', 'select * from "masked_public"."adults"'],
  [';;select 1 from customers;', ';;select 1 from "masked_public"."customers";'],
  [
    'select 1; select 2 from customers; select 3',
    'select 1; select 2 from "masked_public"."customers"; select 3',
  ],
  // Joins, subqueries, set operations
  [
    'select 1 from orders o join public.customers c on c.id = o.id',
    'select 1 from orders o join "masked_public"."customers" c on c.id = o.id',
  ],
  [
    'select 1 from customers a, customers b',
    'select 1 from "masked_public"."customers" a, "masked_public"."customers" b',
  ],
  [
    'select 1 from (orders left join customers using (id)) cross join orders x',
    'select 1 from (orders left join "masked_public"."customers" using (id)) cross join orders x',
  ],
  [
    'select (select max(email) from customers)',
    'select (select max(email) from "masked_public"."customers")',
  ],
  ['select 1 where exists (table customers)', 'select 1 where exists (table "masked_public"."customers")'],
  [
    'select * from (select * from customers) s',
    'select * from (select * from "masked_public"."customers") s',
  ],
  [
    'select 1 from orders, lateral (select 1 from customers c where c.id = orders.id) l',
    'select 1 from orders, lateral (select 1 from "masked_public"."customers" c where c.id = orders.id) l',
  ],
  [
    'select id from customers union all select id from public.customers',
    'select id from "masked_public"."customers" union all select id from "masked_public"."customers"',
  ],
  [
    '(select id from orders except select id from customers) order by 1',
    '(select id from orders except select id from "masked_public"."customers") order by 1',
  ],
  [
    'values ((select email from customers limit 1))',
    'values ((select email from "masked_public"."customers" limit 1))',
  ],
  [
    'select array(select email from customers)',
    'select array(select email from "masked_public"."customers")',
  ],
  [
    'select 1 from orders where id in (select id from customers) order by (select 1 from customers)',
    'select 1 from orders where id in (select id from "masked_public"."customers") order by (select 1 from "masked_public"."customers")',
  ],
  [
    'select coalesce((select 1 from customers), case when (select true from customers) then 1 end)',
    'select coalesce((select 1 from "masked_public"."customers"), case when (select true from "masked_public"."customers") then 1 end)',
  ],
  // Names of WITH
  ['with customers as (select 1) select * from customers', '='],
  [
    'with customers as (select * from customers) select * from customers',
    'with customers as (select * from "masked_public"."customers") select * from customers',
  ],
  [
    'with customers as (select 1) select * from public.customers',
    'with customers as (select 1) select * from "masked_public"."customers"',
  ],
  ['with recursive customers as (select 1 union all select 2 from customers) select 1 from customers', '='],
  [
    'with a as (select 1 from customers), customers as (select 1 from a) select 1 from customers',
    'with a as (select 1 from "masked_public"."customers"), customers as (select 1 from a) select 1 from customers',
  ],
  [
    'select 1 from (with customers as (select 1) select 1 from customers) x, customers',
    'select 1 from (with customers as (select 1) select 1 from customers) x, "masked_public"."customers"',
  ],
  [
    'with customers as (select 1) select (select 1 from customers), (select 1 from public.customers)',
    'with customers as (select 1) select (select 1 from customers), (select 1 from "masked_public"."customers")',
  ],
  ['with customers as (select 1) select 1 union select 2 from customers', '='],
  [
    'with x as (insert into customers select * from customers returning id) select * from x',
    'with x as (insert into customers select * from "masked_public"."customers" returning id) select * from x',
  ],
  ['with customers as (select 1 as id) delete from customers using customers c where true', '='],
  // Columns of three parts
  [
    'select public.customers.email from public.customers',
    'select "masked_public"."customers".email from "masked_public"."customers"',
  ],
  [
    'select public.customers.* from customers where public.customers.id = 1',
    'select "masked_public"."customers".* from "masked_public"."customers" where "masked_public"."customers".id = 1',
  ],
  [
    'select shop.public.customers.email from public.customers',
    'select "masked_public"."customers".email from "masked_public"."customers"',
  ],
  [
    'select customers.email, email from public.customers',
    'select customers.email, email from "masked_public"."customers"',
  ],
  [
    'select public . "customers" . email from public.customers order by public.customers.id',
    'select "masked_public"."customers" . email from "masked_public"."customers" order by "masked_public"."customers".id',
  ],
  [
    'select (select public.customers.email) from public.customers',
    'select (select "masked_public"."customers".email) from "masked_public"."customers"',
  ],
  [
    'select public.customers.id from public.customers c',
    'select public.customers.id from "masked_public"."customers" c',
  ],
  [
    'select 1 from orders join public.customers on public.customers.id = public.orders.id',
    'select 1 from orders join "masked_public"."customers" on "masked_public"."customers".id = public.orders.id',
  ],
  // Writes
  ["insert into public.customers values (1, 'public.customers')", '='],
  [
    'insert into public.customers select * from public.customers',
    'insert into public.customers select * from "masked_public"."customers"',
  ],
  [
    'insert into customers as c (id) values (1) on conflict (id) do update set id = (select max(id) from customers) returning c.id',
    'insert into customers as c (id) values (1) on conflict (id) do update set id = (select max(id) from "masked_public"."customers") returning c.id',
  ],
  ['update public.customers set name = 1 where public.customers.id = 2 returning public.customers.id', '='],
  [
    'update customers set name = (select email from customers c where c.id = customers.id)',
    'update customers set name = (select email from "masked_public"."customers" c where c.id = customers.id)',
  ],
  [
    'update orders set id = public.customers.id from public.customers',
    'update orders set id = "masked_public"."customers".id from "masked_public"."customers"',
  ],
  [
    'update public.customers set id = 1 where id in (select public.customers.id from public.customers)',
    'update public.customers set id = 1 where id in (select "masked_public"."customers".id from "masked_public"."customers")',
  ],
  ['delete from public.customers', '='],
  [
    'delete from only public.customers using public.customers x where true',
    'delete from only public.customers using "masked_public"."customers" x where true',
  ],
  [
    'merge into customers using public.customers s on true when matched then delete',
    'merge into customers using "masked_public"."customers" s on true when matched then delete',
  ],
  ['truncate public.customers', '='],
  ['select 1 from customers for update of customers', '='],
  // COPY and LOCK
  [
    'copy public.customers to stdout',
    'copy (SELECT "id", "email" FROM "masked_public"."customers") to stdout',
  ],
  [
    'copy customers (email) to stdout with (format csv)',
    'copy (SELECT "email" FROM "masked_public"."customers") to stdout with (format csv)',
  ],
  [
    'COPY public.customers (id, /* , */ "email") TO STDOUT;',
    'COPY (SELECT "id", "email" FROM "masked_public"."customers") TO STDOUT;',
  ],
  ['copy (select * from customers) to stdout', 'copy (select * from "masked_public"."customers") to stdout'],
  ['copy (delete from customers returning id) to stdout', '='],
  ['copy public.customers from stdin', '='],
  ['copy public.staff to stdout', '='],
  ['select * from public.staff', 'select * from "masked_public"."staff"'],
  ['select * from only public.staff', '='],
  [
    'lock table public.customers, only orders in access share mode',
    'lock table "masked_public"."customers", only orders in access share mode',
  ],
  ['lock customers', '='],
  ['lock table only public.customers, adults in share mode nowait', '='],
  ['lock masked_public.customers in row exclusive mode', 'lock "public"."customers" in row exclusive mode'],
  // Statements around statements
  [
    'explain (analyze) select * from customers',
    'explain (analyze) select * from "masked_public"."customers"',
  ],
  [
    'prepare p (int) as select * from customers where id = $1',
    'prepare p (int) as select * from "masked_public"."customers" where id = $1',
  ],
  [
    'declare c no scroll cursor with hold for select * from customers',
    'declare c no scroll cursor with hold for select * from "masked_public"."customers"',
  ],
  [
    'create table copy_of as select * from customers',
    'create table copy_of as select * from "masked_public"."customers"',
  ],
  ['select * into copy_of from customers', 'select * into copy_of from "masked_public"."customers"'],
  ['create view v as table public.customers', 'create view v as table "masked_public"."customers"'],
  [
    'create materialized view v as select * from customers',
    'create materialized view v as select * from "masked_public"."customers"',
  ],
  ['create table x (like public.customers)', 'create table x (like "masked_public"."customers")'],
  ["create function f() returns text as 'select email from customers' language sql", '='],
  [
    'create function f() returns text language sql begin atomic select email from customers; end',
    'create function f() returns text language sql begin atomic select email from "masked_public"."customers"; end',
  ],
  ['do $$ begin perform email from public.customers; end $$', '='],
  // Not about data
  ['alter table public.customers add x int', '='],
  ['drop table public.customers', '='],
  ['grant select on public.customers to x', '='],
  ['analyze public.customers', '='],
  ['comment on table public.customers is null', '='],
  ["select 'public.customers'::regclass, null::public.customers", '='],
  ['create table customers2 (id int references public.customers)', '='],
  [
    'update masked_public.customers set id = 1 where masked_public.customers.id = 2 and customers.id = 3',
    'update "public"."customers" set id = 1 where "public"."customers".id = 2 and customers.id = 3',
  ],
  [
    'delete from shop."masked_public".customers c where c.id = 1',
    'delete from "public"."customers" c where c.id = 1',
  ],
  ['insert into elsewhere.masked_public.customers select 1', '='],
  ['copy masked_public.customers from stdin', 'copy "public"."customers" from stdin'],
  [
    'set search_path = masked_public, public; copy customers (id) to stdout; copy customers from stdin',
    'set search_path = masked_public, public; copy (SELECT "id" FROM "masked_public"."customers") to stdout; copy "public"."customers" from stdin',
  ],
  // What can be done with rows of a table alone
  ['select id from public.customers where public.customers.id = 1 for update', '='],
  [
    'select 1 from customers c join adults a using (id) for no key update of c skip locked',
    'select 1 from customers c join "masked_public"."adults" a using (id) for no key update of c skip locked',
  ],
  [
    'select 1 from customers where id in (select id from customers) for share',
    'select 1 from customers where id in (select id from "masked_public"."customers") for share',
  ],
  [
    'select 1 from customers tablesample system (10), customers d',
    'select 1 from customers tablesample system (10), "masked_public"."customers" d',
  ],
  // What the parser shows twice
  [
    'update notes set (a, b) = (select id, email from public.customers) where id = 1',
    'update notes set (a, b) = (select id, email from "masked_public"."customers") where id = 1',
  ],
  // Groups by a primary key, which a view does not have
  [
    'select c.id, c.email, count(*) from customers c join notes n using (id) group by c.id',
    'select c.id, c.email, count(*) from "masked_public"."customers" c join notes n using (id) group by "c"."email", c.id',
  ],
  [
    'select *, public.customers.id from public.customers group by x, public.customers.id',
    'select *, "masked_public"."customers".id from "masked_public"."customers" group by x, "customers"."email", "customers"."na""me", "masked_public"."customers".id',
  ],
  [
    'select 1 from customers group by (id) order by email, lower(email)',
    'select 1 from "masked_public"."customers" group by ("customers"."email", id) order by email, lower(email)',
  ],
  [
    'select (select 1 from notes where n = c.email) from customers c, notes group by id having 1 > 0',
    'select (select 1 from notes where n = c.email) from "masked_public"."customers" c, notes group by "c"."email", id having 1 > 0',
  ],
  ...[
    'select email from {} group by email',
    'select id from {} group by id',
    'select email from {} group by rollup (id)',
    'select email from {} group by 1, id',
    'select email from {} as c (a, b) group by id',
    'select x.email from ({} cross join notes) as x group by id',
    'select email from {}, x group by x.id',
  ].map(
    (text) =>
      [text.replace('{}', 'public.customers'), text.replace('{}', '"masked_public"."customers"')] as const,
  ),
  // Names that mean something else
  ['set search_path = sales; select 1 from customers', '='],
  ['set search_path = sales, public; select 1 from customers', '='],
  [
    'set search_path to public, sales; select 1 from customers',
    'set search_path to public, sales; select 1 from "masked_public"."customers"',
  ],
  ["set schema 'nowhere'; select 1 from customers", '='],
  ['create temp table customers (id int); select 1 from customers', '='],
  [
    'create temp table customers (id int); select 1 from public.customers',
    'create temp table customers (id int); select 1 from "masked_public"."customers"',
  ],
  [
    'create table pg_temp.customers (id int); select 1 from customers; drop table customers; select 1 from customers',
    'create table pg_temp.customers (id int); select 1 from customers; drop table customers; select 1 from "masked_public"."customers"',
  ],
  [
    'set search_path = masked_public, public; update customers set id = 1',
    'set search_path = masked_public, public; update "public"."customers" set id = 1',
  ],
  ['set search_path = masked_public, public; select 1 from customers', '='],
  // Not SQL
  ['select from from customers', '='],
  ['select 1 from "customers', '='],
  ['', '='],
]
