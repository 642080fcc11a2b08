import { attacks } from '../attack.ts'

/** Objects that stand on the masked tables. */
export const objects = attacks('contained', ['ENF-02'], {
  'a view': 'select * from {S}.v_customers',
  'a view over a view': 'select * from {S}.v_nested',
  'a view that joins': 'select * from {S}.v_join',
  'a view with a CTE of the table’s name': 'select * from {S}.v_cte',
  'a view with a scalar subquery': 'select * from {S}.v_sub',
  'a view of rows': 'select j from {S}.v_row',
  'a view of whole rows': 'select c::text, (c).email from {S}.v_whole',
  'a security barrier': 'select * from {S}.v_barrier',
  'a security invoker': 'select * from {S}.v_invoker',
  'a recursive view': 'select * from {S}.v_recursive',
  'a materialized view': 'select * from {S}.m_customers',
  'a view over a materialized view': 'select * from {S}.v_material',
  'a view that aggregates': 'select top, pay from {S}.v_aggregate',
  'a view in another schema': 'select * from audit.trail;; select * from masked_audit.trail',
  'a view with odd names':
    'select * from audit."TräilIng ""quote";; select * from masked_audit."TräilIng ""quote"',
  'a view in an odd schema': `select * from "Odd ""schema"."odd ""view";;
    select * from "masked_Odd ""schema"."odd ""view"`,
  'a view with a name of 63 bytes':
    'select * from {S}.vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv',
  'a view of another role in a schema that looks like ours': 'select * from masked_reports.hand_made',
  'a partitioned table': 'select * from {S}.orders',
  'a partition': 'select * from {S}.orders_1',
  'a partition of a partition': 'select * from {S}.orders_1a',
  'the other partition': 'select phone from {S}.orders_2',
  'an inherited table': 'select * from {S}.staff',
  'a child': 'select * from {S}.managers',
  'the parent alone': 'select wage from only {S}.staff',
  'the whole of which one partition is masked': 'select * from {S}.branch',
  'a partition that is masked by itself': 'select * from {S}.branch_b',
  'a view made by the attacker': 'create view {L}.v as select email from {S}.customers;; select * from {L}.v',
  'a view made by the attacker, as invoker': {
    run: `create view {L}.v with (security_invoker)
    as select email from {S}.customers;; select * from {L}.v`,
    since: 15,
  },
  'a materialized view made by the attacker': `create materialized view {L}.m as select email from {S}.customers;;
    select * from {L}.m`,
  'a temporary view': 'create temp view v as select email from {S}.customers;; select * from v',
  'a copy of the table’s form': `create table {L}.c (like {S}.customers including all);;
    insert into {L}.c select * from {S}.customers;; table {L}.c`,
  'a child made by the attacker': {
    run: 'create table {L}.c () inherits ({S}.customers);; select * from {L}.c',
    alone: 'only the owner of a table gives it children',
  },
  'REFRESH into sight': {
    run: 'refresh materialized view {S}.m_customers;; select * from {S}.m_customers',
    exempt: 'select * from public.m_customers',
  },
  'the table of long values': {
    run: `do $$ declare t text; begin select reltoastrelid::regclass::text into t
    from pg_class where oid = 'public.customers'::regclass; execute 'select * from ' || t; end $$`,
    alone: 'pg_toast is closed to all but superusers',
  },
  'large objects': {
    run: 'select lo_get(oid) from pg_largeobject_metadata;; select * from pg_largeobject',
    alone: 'no masked column is a large object; the attempt is that of reading the table behind all of them',
  },
  'a column of a domain': 'select secret from {S}.computed',
  'a domain without its checks': 'select secret::text from {S}.computed',
  'a generated column': 'select twice from {S}.computed',
  'a field of a composite type': 'select (home).street from {S}.computed',
  'an array of a composite type': 'select homes[1].street from {S}.computed',
  'unnested rows': 'select (unnest(homes)).* from {S}.computed',
  'a table with a row policy': 'select word from {S}.policed',
  'the partition that a row is in': {
    run: 'select tableoid::regclass, phone from {S}.orders',
    exempt: 'select phone from {S}.orders',
  },
  'a partition by its parent’s name, ONLY': { run: 'select * from only {S}.orders', alone: 'it has no rows' },
  'a view over the twin': 'create view {L}.v as select c, c.email from {S}.customers c;; select * from {L}.v',
  'a barrier made by the attacker': `create view {L}.v with (security_barrier) as select email from {S}.customers;;
    select * from {L}.v`,
  'a recursive view made by the attacker': `create recursive view {L}.v (e) as select email from {S}.customers
    where id = 1;; select * from {L}.v`,
  'a function that returns rows of the table': `create function {L}.f() returns setof {S}.customers language sql as
    $$ select * from {S}.customers $$;; select * from {L}.f()`,
  'a composite type made of rows': `create table {L}.t (c {S}.customers);; insert into {L}.t select c from
    {S}.customers c;; select (c).email from {L}.t`,
  'a materialized view that is refreshed': `create materialized view {L}.m as select email from {S}.customers with
    no data;; refresh materialized view {L}.m;; select * from {L}.m`,
  'a parent made by the attacker': {
    run: `create table {L}.p (wage int);; alter table {S}.staff inherit {L}.p;;
    select * from {L}.p`,
    alone: 'only the owner of a table gives it parents',
  },
  'a whole made by the attacker': {
    prepare: 'create table {L}.p (id int, region text, customer int, phone text) partition by range (id)',
    run: `alter table {L}.p attach partition public.orders_2 for values from
    (100) to (200)`,
    denied: true,
  },
  'a partition made by the attacker': {
    run: `create table {L}.p partition of public.orders for values from
    (200) to (300)`,
    denied: true,
  },
  'a table that is renamed into the place of the twin': {
    prepare: 'create table {L}.customers (id int, email text)',
    run: `alter table {L}.customers set schema
    masked_public`,
    denied: true,
  },
})
