import type { Attack } from './attacker.ts'

const read = (name: string, ...run: Attack['run']): Attack => ({ name, run })

/** SQL that is run by something else: blocks, functions, cursors, prepared statements, built-ins that take a query. */
export const programs: readonly Attack[] = [
  read(
    'DO with EXECUTE',
    `do $$ declare e text; begin execute 'select email from {S}.customers where id = 1' into e; raise notice '%', e; end $$`,
  ),
  read(
    'DO with FOR IN EXECUTE',
    `do $$ declare r record; begin for r in execute 'select * from {S}.customers' loop raise notice '%', r; end loop; end $$`,
  ),
  read(
    'a handler that prints the error',
    `do $$ declare d text; begin perform note::int from {S}.customers where id = 1; exception when others then get stacked diagnostics d = message_text; raise notice '%', d; end $$`,
  ),
  read(
    'an SQL function',
    `create function {L}.f() returns setof text language sql as 'select email from {S}.customers'`,
    'select {L}.f()',
  ),
  read(
    'a security definer of the attacker’s',
    `create function {L}.f() returns setof text language sql security definer as 'select email from {S}.customers'`,
    'select {L}.f()',
  ),
  read(
    'a function with a standard body',
    'create function {L}.f() returns setof text begin atomic select email from {S}.customers; end',
    'select {L}.f()',
  ),
  read(
    'a PL/pgSQL function that returns rows',
    `create function {L}.f() returns setof record language plpgsql as $$ begin return query execute 'select email, note from {S}.customers'; end $$`,
    'select * from {L}.f() as t(a text, b text)',
  ),
  read(
    'a function of the row',
    `create function {L}.f({S}.customers) returns text language sql as 'select $1.email'`,
    'select {L}.f(c) from {S}.customers c',
  ),
  read(
    'a default that is a query',
    `create function {L}.f() returns text language sql as 'select email from {S}.customers where id = 1'`,
    'create table {L}.d (a int, e text default {L}.f())',
    'insert into {L}.d values (1) returning *',
  ),
  read(
    'a procedure with an OUT argument',
    `create procedure {L}.p(inout e text) language plpgsql as $$ begin select email into e from {S}.customers where id = 1; end $$`,
    `call {L}.p('')`,
  ),
  read('a cursor', 'declare c cursor for select * from {S}.customers', 'fetch all c'),
  read(
    'a scrolling cursor',
    'declare c scroll cursor for select email from {S}.customers',
    'move last c',
    'fetch backward 100 c',
  ),
  read(
    'a cursor with hold',
    'declare c cursor with hold for select email from {S}.customers',
    'fetch all c',
    'select statement from pg_cursors',
  ),
  read(
    'a refcursor',
    `create function {L}.c() returns refcursor language plpgsql as $$ declare c refcursor := 'rc'; begin open c for execute 'select email from {S}.customers'; return c; end $$`,
    'select {L}.c()',
    'fetch all rc',
  ),
  read(
    'PREPARE and EXECUTE',
    'prepare p (int) as select email from {S}.customers where id = $1',
    'execute p (1)',
  ),
  read(
    'a generic plan',
    `set local plan_cache_mode = force_generic_plan`,
    'prepare p as select note from {S}.customers',
    'execute p',
  ),
  read(
    'a named statement of the protocol',
    { name: 'n', text: 'select email from {S}.customers where id = $1', values: [1] },
    { name: 'n', text: 'select email from {S}.customers where id = $1', values: [1] },
  ),
  read(
    'CREATE TABLE AS EXECUTE',
    'prepare p as select email from {S}.customers',
    'create table {L}.loot as execute p',
    'table {L}.loot',
  ),
  read('query_to_xml', `select query_to_xml('select * from {S}.customers', true, false, '')`),
  read(
    'query_to_xml_and_xmlschema',
    `select query_to_xml_and_xmlschema('select email from {S}.customers', true, false, '')`,
  ),
  read('table_to_xml', `select table_to_xml('{S}.customers', true, false, '')`),
  read('schema_to_xml', `select schema_to_xml('{S}', true, false, '')`),
  read(
    'database_to_xml',
    `select database_to_xml(true, false, '')`,
    `select schema_to_xml('{S}', true, false, '')`,
  ),
  read(
    'cursor_to_xml',
    'declare c cursor for select email from {S}.customers',
    `select cursor_to_xml('c', 10, true, false, '')`,
  ),
  read('ts_stat', `select word from ts_stat('select to_tsvector(''simple'', note) from {S}.customers')`),
  read(
    'ts_rewrite',
    `select ts_rewrite('a'::tsquery, 'select ''a''::tsquery, plainto_tsquery(''simple'', note) from {S}.customers where id = 1')`,
  ),
  read(
    'a loop over guesses',
    `do $$ declare g text := ''; n int; begin for i in 1..23 loop for n in 45..122 loop
      if exists (select from {S}.customers where id = 1 and ascii(substr(email, i, 1)) = n) then g := g || chr(n); end if; end loop; end loop; raise notice '%', g; end $$`,
  ),
  read(
    'EXPLAIN',
    { text: 'explain (verbose) select * from {S}.customers where email is not null' },
    'select email from {S}.customers',
  ),
  read(
    'EXPLAIN ANALYZE as JSON',
    'explain (analyze, verbose, format json) select email, note from {S}.customers order by email',
    'select email from {S}.customers',
  ),
  {
    name: 'EXPLAIN of a function that was folded',
    run: [
      `create function {L}.f() returns text language sql immutable as 'select email from {S}.customers where id = 1'`,
      `explain (verbose) select 1 where 'a' = {L}.f()`,
      `explain (verbose) select {L}.f()`,
    ],
  },
  {
    name: 'rows that EXPLAIN expects',
    run: [
      `explain (format json) select id from {S}.customers where email = 'mail10@example.com' and note = 'x'`,
    ],
    alone: 'estimates name no value; what they could tell is covered by the statistics',
  },
]

const leak = `create function {L}.leak(anyelement) returns boolean language plpgsql cost 0.0000001 as $$ begin raise notice '%', $1; return true; end $$`

/** Functions, operators, casts and types of the attacker's that the planner may run early, or find instead of the real ones. */
export const leaks: readonly Attack[] = [
  read('a cheap function in WHERE', leak, 'select id from {S}.customers where {L}.leak(email)'),
  read(
    'before the table’s own conditions',
    leak,
    'select id from {S}.customers where id = -1 or {L}.leak(note)',
  ),
  read(
    'of the whole row',
    `create function {L}.leak_row(record) returns boolean language plpgsql as $$ begin raise notice '%', $1; return true; end $$`,
    'select id from {S}.customers c where {L}.leak_row(c)',
  ),
  read('below a barrier', leak, 'select id from {S}.v_barrier where {L}.leak(email)'),
  read(
    'below a barrier, what it hides',
    leak,
    'select id from {S}.v_barrier where {L}.leak(id) and {L}.leak(email)',
  ),
  read('in ORDER BY', leak, 'select id from {S}.customers order by {L}.leak(email)'),
  read('in GROUP BY', leak, 'select count(*) from {S}.customers group by {L}.leak(email)'),
  read('in a join', leak, 'select 1 from {S}.customers a join {S}.customers b on {L}.leak(a.email)'),
  read(
    'in an aggregate of the attacker’s',
    `create function {L}.step(text, text) returns text language plpgsql as $$ begin raise notice '%', $2; return $2; end $$`,
    'create aggregate {L}.agg(text) (sfunc = {L}.step, stype = text)',
    'select {L}.agg(email) from {S}.customers',
  ),
  read(
    'an operator of the attacker’s',
    `create function {L}.eq(text, text) returns boolean language plpgsql as $$ begin raise notice '% %', $1, $2; return true; end $$`,
    'create operator {L}.=== (leftarg = text, rightarg = text, procedure = {L}.eq)',
    `select id from {S}.customers where email operator({L}.===) 'x'`,
  ),
  read(
    '= before pg_catalog’s',
    `create function {L}.eq(text, text) returns boolean language plpgsql as $$ begin raise notice '%', $1; return true; end $$`,
    'create operator {L}.= (leftarg = text, rightarg = text, procedure = {L}.eq)',
    'set local search_path = {L}, pg_catalog',
    `select id from {S}.customers where email = 'x'`,
  ),
  read(
    'an operator with a support function',
    `create function {L}.eq(text, text) returns boolean language plpgsql immutable as $$ begin raise notice '% %', $1, $2; return true; end $$`,
    'create operator {L}.=== (leftarg = text, rightarg = text, procedure = {L}.eq, restrict = eqsel, join = eqjoinsel)',
    `explain select id from {S}.customers where email operator({L}.===) 'x'`,
    'select email from {S}.customers',
  ),
  read(
    'statistics run an operator',
    `create function {L}.lt(text, text) returns boolean language plpgsql immutable as $$ begin raise notice '% %', $1, $2; return true; end $$`,
    'create operator {L}.<<<< (leftarg = text, rightarg = text, procedure = {L}.lt, restrict = scalarltsel)',
    `explain select id from public.customers where email operator({L}.<<<<) 'x'`,
    'select email from {S}.customers',
  ),
  read(
    'a cast of the attacker’s',
    'create type {L}.t as (v text)',
    `create function {L}.to_t({L}.t) returns text language plpgsql as $$ begin raise notice '%', $1; return 'x'; end $$`,
    'create cast ({L}.t as text) with function {L}.to_t({L}.t)',
    'select row(email)::{L}.t::text from {S}.customers',
  ),
  read(
    'left() in front',
    `create function {L}.left(text, int) returns text language sql as 'select $1'`,
    'set local search_path = {L}, public, pg_catalog',
    'select email from {S}.customers',
  ),
  read(
    'every function of the masks in front',
    `create function {L}.right(text, int) returns text language sql as 'select $1'`,
    `create function {L}.length(text) returns int language sql as 'select 0'`,
    `create function {L}.regexp_replace(text, text, text, text) returns text language sql as 'select $1'`,
    `create function {L}.random() returns float8 language sql as 'select 0::float8'`,
    'set local search_path = {L}, pg_catalog',
    'select * from {S}.customers',
  ),
  read(
    'text in pg_temp',
    `create domain pg_temp.text as pg_catalog.text check (true)`,
    'set local search_path = pg_temp, pg_catalog, public',
    'select email from {S}.customers',
  ),
  read(
    '|| in front',
    `create function {L}.cat(text, text) returns text language sql as $$ select 'x' $$`,
    'create operator {L}.|| (leftarg = text, rightarg = text, procedure = {L}.cat)',
    'set local search_path = {L}, pg_catalog',
    'select email, note from {S}.customers',
  ),
  read(
    'a table in front',
    'create temp table customers (id int, email text)',
    'set local search_path = pg_temp',
    'select email from {S}.customers',
  ),
  read('the table without a schema', 'select email from customers'),
  read(
    'the table without a schema, twins first',
    'set local search_path = {S}, public',
    'select email from customers',
  ),
  read(
    'an index support type',
    `create function {L}.cmp(text, text) returns int language plpgsql immutable as $$ begin raise notice '% %', $1, $2; return 0; end $$`,
    'select email from {S}.customers order by email using operator(pg_catalog.<)',
  ),
  read(
    'a domain with a check',
    `create function {L}.see(text) returns boolean language plpgsql as $$ begin raise notice '%', $1; return true; end $$`,
    'create domain {L}.d as text check ({L}.see(value))',
    'select email::{L}.d from {S}.customers',
  ),
  read('a collation', `select email collate "C" from {S}.customers order by email collate "C"`),
  {
    name: 'a function said to be leakproof',
    run: [
      `create function {L}.leak(text) returns boolean language plpgsql leakproof as $$ begin raise notice '%', $1; return true; end $$`,
    ],
    alone: 'leakproof is for superusers to say',
  },
]
