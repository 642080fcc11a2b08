import { attacks, hit } from '../attack.ts'

export const programs = attacks('contained', ['ENF-05'], {
  'DO with EXECUTE': `do $$ declare e text; begin execute 'select email from {S}.customers where id = 1' into e;
    raise notice '%', e; end $$`,
  'DO with FOR IN EXECUTE': `do $$ declare r record; begin for r in execute 'select * from {S}.customers' loop
    raise notice '%', r; end loop; end $$`,
  'a handler that prints the error': `do $$ declare d text; begin perform note::int from {S}.customers where id =
    1; exception when others then get stacked diagnostics d = message_text; raise notice '%', d; end $$`,
  'an SQL function': `create function {L}.f() returns setof text language sql as
    'select email from {S}.customers';; select {L}.f()`,
  'a security definer of the attacker’s': `create function {L}.f() returns setof text language sql security definer
    as 'select email from {S}.customers';; select {L}.f()`,
  'a function with a standard body': `create function {L}.f() returns setof text begin
    atomic select email from {S}.customers; end;; select {L}.f()`,
  'a PL/pgSQL function that returns rows': `create function {L}.f() returns setof record language plpgsql as $$
    begin return query execute 'select email, note from {S}.customers'; end $$;;
    select * from {L}.f() as t(a text, b text)`,
  'a function of the row': `create function {L}.f({S}.customers) returns text language sql as 'select $1.email';;
    select {L}.f(c) from {S}.customers c`,
  'a default that is a query': `create function {L}.f() returns text language sql as
    'select email from {S}.customers where id = 1';; create table {L}.d (a int, e text default {L}.f());;
    insert into {L}.d values (1) returning *`,
  'a procedure with an OUT argument': `create procedure {L}.p(inout e text) language plpgsql as $$ begin
    select email into e from {S}.customers where id = 1; end $$;; call {L}.p('')`,
  'a cursor': 'declare c cursor for select * from {S}.customers;; fetch all c',
  'a scrolling cursor': `declare c scroll cursor for select email from {S}.customers;; move last c;;
    fetch backward 100 c`,
  'a cursor with hold': `declare c cursor with hold for select email from {S}.customers;; fetch all c;;
    select statement from pg_cursors`,
  'a refcursor': `create function {L}.c() returns refcursor language plpgsql as $$ declare c refcursor := 'rc';
    begin open c for execute 'select email from {S}.customers'; return c; end $$;; select {L}.c();; fetch all rc`,
  'PREPARE and EXECUTE': 'prepare p (int) as select email from {S}.customers where id = $1;; execute p (1)',
  'a generic plan': `set local plan_cache_mode = force_generic_plan;; prepare p as select note from {S}.customers;;
    execute p`,
  'a named statement of the protocol': [
    { name: 'n', text: 'select email from {S}.customers where id = $1', values: [1] },
    { name: 'n', text: 'select email from {S}.customers where id = $1', values: [1] },
  ],
  'CREATE TABLE AS EXECUTE': `prepare p as select email from {S}.customers;; create table {L}.loot as execute p;;
    table {L}.loot`,
  query_to_xml: `select query_to_xml('select * from {S}.customers', true, false, '')`,
  query_to_xml_and_xmlschema: `select query_to_xml_and_xmlschema('select email from {S}.customers', true, false,
    '')`,
  table_to_xml: `select table_to_xml('{S}.customers', true, false, '')`,
  schema_to_xml: `select schema_to_xml('{S}', true, false, '')`,
  database_to_xml: `select database_to_xml(true, false, '');; select schema_to_xml('{S}', true, false, '')`,
  cursor_to_xml: `declare c cursor for select email from {S}.customers;;
    select cursor_to_xml('c', 10, true, false, '')`,
  ts_stat: `select word from ts_stat('select to_tsvector(''simple'', note) from {S}.customers')`,
  ts_rewrite: `select ts_rewrite('a'::tsquery,
    'select ''a''::tsquery, plainto_tsquery(''simple'', note) from {S}.customers where id = 1')`,
  'a loop over guesses': `do $$ declare g text := ''; n int; begin for i in 1..23 loop for n in 45..122 loop
    if exists (select from {S}.customers where id = 1 and ascii(substr(email, i, 1)) = n) then g := g || chr(n); end
    if; end loop; end loop; raise notice '%', g; end $$`,
  EXPLAIN: [
    { text: 'explain (verbose) select * from {S}.customers where email is not null' },
    'select email from {S}.customers',
  ],
  'EXPLAIN ANALYZE as JSON': `explain (analyze, verbose, format json) select email,
    note from {S}.customers order by email;; select email from {S}.customers`,
  'EXPLAIN of a function that was folded': `create function {L}.f() returns text language sql immutable as
    'select email from {S}.customers where id = 1';; explain (verbose) select 1 where 'a' = {L}.f();;
    explain (verbose) select {L}.f()`,
  'rows that EXPLAIN expects': {
    run: `explain (format json) select id from {S}.customers where email =
    'mail10@example.com' and note = 'x'`,
    alone: 'estimates name no value; what they could tell is covered by the statistics',
  },
  'EXPLAIN with everything': {
    run: `explain (analyze, verbose, settings, buffers, wal, summary, format yaml)
    select email || note from {S}.customers where email like 'zqc%' group by 1 order by 1`,
    exempt: 'select email from {S}.customers',
  },
  'EXPLAIN of a generic plan': {
    run: `explain (generic_plan, verbose) select email from {S}.customers where
    note is null`,
    exempt: 'select email from {S}.customers',
    since: 16,
  },
  'EXPLAIN of what is serialized': {
    run: `explain (analyze, serialize text, format json)
    select * from {S}.customers`,
    exempt: 'select email from {S}.customers',
    since: 17,
  },
  'EXPLAIN of what writes': {
    run: `explain (analyze, verbose, format xml) update {S}.customers set name = 'x'
    where email like 'zqc%'`,
    exempt: 'select email from {S}.customers',
  },
  'EXPLAIN EXECUTE': {
    run: `prepare p (text) as select id from {S}.customers where email = $1;;
    explain (analyze, verbose) execute p ('x')`,
    exempt: 'select email from {S}.customers',
  },
  'a plan that is sent to the client': {
    run: `set local debug_print_parse = on;;
    set local debug_print_rewritten = on;; set local debug_print_plan = on;; set local client_min_messages = log;;
    select email, note from {S}.customers`,
    exempt: 'select email from {S}.customers',
  },
  'a block that asserts': `do $$ declare e text; begin select email into e from {S}.customers where id = 1;
    assert false, e; end $$`,
  'the context of an error': `do $$ declare e text; begin select email into e from {S}.customers where id = 1;
    execute 'select ' || quote_literal(e) || '::int'; end $$`,
  'an error with names': `do $$ declare e text; begin select email into e from {S}.customers where id = 1;
    raise exception using message = 'x', column = e, constraint = e, table = e, datatype = e; end $$`,
  'a division in a loop': `create table {L}.found (c text);; do $$ declare c text; begin for i in 1..23 loop begin
    select substr(email, i, 1) into strict c from {S}.customers where id = 1; insert into {L}.found values (c);
    exception when others then null; end; end loop; end $$;; select string_agg(c, '') from {L}.found`,
  'a cursor of PL/pgSQL with arguments': `do $$ declare c cursor (k int) for select email from {S}.customers where
    id = k; begin for r in c (1) loop raise notice '%', r; end loop; end $$`,
  'a function with a path of its own': `create function {L}.f() returns setof text language sql set search_path =
    {S} as 'select email from customers';; select {L}.f()`,
  'a function that is given away': {
    prepare: `create function {L}.f() returns setof text language sql security definer as
    'select email from {S}.customers'`,
    run: 'alter function {L}.f() owner to {auditor};; set role {auditor}',
    denied: true,
  },
  'an aggregate over rows': `create aggregate {L}.all_of(anycompatible) (sfunc = array_append,
    stype = anycompatiblearray, initcond = '{}');; select {L}.all_of(email) from {S}.customers`,
  crosstab: `create extension tablefunc schema {L};; select * from
    {L}.crosstab('select id, id, email from {S}.customers where id = 1') as t(id int, e text)`,
  'digests of an extension': `create extension pgcrypto schema {L};; select encode({L}.digest(email, 'sha256'),
    'hex') from {S}.customers`,
  'hstore of a row': 'create extension hstore schema {L};; select {L}.hstore(c)::text from {S}.customers c',
  'a comparison by trigrams': {
    run: `create extension pg_trgm schema {L};; select 'hit' from {S}.customers
    where {L}.similarity(note, 'zqcan' || 'ary-note-hidden') = 1`,
    tell: hit,
  },
  'fuzzy matching': {
    run: `create extension fuzzystrmatch schema {L};;
    select 'hit' from {S}.customers where {L}.levenshtein(note, 'zqcan' || 'ary-note-hidden') = 0`,
    tell: hit,
  },
  'xml of a query and its schema': `select xpath('//email/text()', query_to_xml('select * from {S}.customers',
    true, false, ''))`,
  table_to_xml_and_xmlschema: `select table_to_xml_and_xmlschema('{S}.customers', true, false, '')`,
  'a large object of what is read': `select lo_from_bytea(424242, convert_to(string_agg(email, ','), 'UTF8'))
    from {S}.customers;; select convert_from(lo_get(424242), $$UTF8$$)`,
  'a setting as a store': `select set_config('a.b', string_agg(note, ','), true) from {S}.customers;;
    select current_setting('a.b'), * from pg_settings where name = 'a.b'`,
  'an advisory lock as a store': {
    run: `select pg_advisory_xact_lock(salary::bigint)
    from {S}.customers where id = 1;; select 'hit' from pg_locks where locktype = 'advisory' and objid = 7316549 and
    pid = pg_backend_pid()`,
    tell: hit,
  },
  'a sequence as a store': {
    run: `create sequence {L}.s;; select setval('{L}.s', salary::bigint)
    from {S}.customers where id = 1;; select last_value from {L}.s`,
    blindIn: 'binary',
  },
  'the name of a table as a store': `do $$ begin execute (select format('create table {L}.%I ()', email)
    from {S}.customers where id = 1); end $$;; select relname from pg_class where relnamespace = '{L}'::regnamespace`,
})
