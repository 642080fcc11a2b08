import { attacks } from '../attack.ts'

export const foreignCode = attacks('contained', ['ENF-06'], {
  'a cheap function in WHERE': '{leak};; select id from {S}.customers where {L}.leak(email)',
  'before the table’s own conditions':
    '{leak};; select id from {S}.customers where id = -1 or {L}.leak(note)',
  'of the whole row': `create function {L}.leak_row(record) returns boolean language plpgsql as $$ begin
    raise notice '%', $1; return true; end $$;; select id from {S}.customers c where {L}.leak_row(c)`,
  'below a barrier': '{leak};; select id from {S}.v_barrier where {L}.leak(email)',
  'below a barrier, what it hides':
    '{leak};; select id from {S}.v_barrier where {L}.leak(id) and {L}.leak(email)',
  'in ORDER BY': '{leak};; select id from {S}.customers order by {L}.leak(email)',
  'in GROUP BY': '{leak};; select count(*) from {S}.customers group by {L}.leak(email)',
  'in a join': '{leak};; select 1 from {S}.customers a join {S}.customers b on {L}.leak(a.email)',
  'in an aggregate of the attacker’s': `create function {L}.step(text, text) returns text language plpgsql as $$
    begin raise notice '%', $2; return $2; end $$;; create aggregate {L}.agg(text) (sfunc = {L}.step,
    stype = text);; select {L}.agg(email) from {S}.customers`,
  'an operator of the attacker’s': `create function {L}.eq(text, text) returns boolean language plpgsql as $$ begin
    raise notice '% %', $1, $2; return true; end $$;; create operator {L}.=== (leftarg = text, rightarg = text,
    procedure = {L}.eq);; select id from {S}.customers where email operator({L}.===) 'x'`,
  '= before pg_catalog’s': `create function {L}.eq(text, text) returns boolean language plpgsql as $$ begin
    raise notice '%', $1; return true; end $$;; create operator {L}.= (leftarg = text, rightarg = text,
    procedure = {L}.eq);; set local search_path = {L}, pg_catalog;; select id from {S}.customers where email = 'x'`,
  'an operator with a support function': `create function {L}.eq(text, text) returns boolean language plpgsql
    immutable as $$ begin raise notice '% %', $1, $2; return true; end $$;;
    create operator {L}.=== (leftarg = text, rightarg = text, procedure = {L}.eq, restrict = eqsel,
    join = eqjoinsel);; explain select id from {S}.customers where email operator({L}.===) 'x';;
    select email from {S}.customers`,
  'statistics run an operator': `create function {L}.lt(text, text) returns boolean language plpgsql immutable as
    $$ begin raise notice '% %', $1, $2; return true; end $$;;
    create operator {L}.<<<< (leftarg = text, rightarg = text, procedure = {L}.lt, restrict = scalarltsel);;
    explain select id from public.customers where email operator({L}.<<<<) 'x';; select email from {S}.customers`,
  'a cast of the attacker’s': `create type {L}.t as (v text);; create function {L}.to_t({L}.t)
    returns text language plpgsql as $$ begin raise notice '%', $1; return 'x'; end $$;;
    create cast ({L}.t as text) with function {L}.to_t({L}.t);; select row(email)::{L}.t::text from {S}.customers`,
  'left() in front': `create function {L}.left(text, int) returns text language sql as 'select $1';;
    set local search_path = {L}, public, pg_catalog;; select email from {S}.customers`,
  'every function of the masks in front': `create function {L}.right(text, int) returns text language sql as
    'select $1';; create function {L}.length(text) returns int language sql as 'select 0';;
    create function {L}.regexp_replace(text, text, text, text) returns text language sql as 'select $1';;
    create function {L}.random() returns float8 language sql as 'select 0::float8';;
    set local search_path = {L}, pg_catalog;; select * from {S}.customers`,
  'text in pg_temp': `create domain pg_temp.text as pg_catalog.text check (true);;
    set local search_path = pg_temp, pg_catalog, public;; select email from {S}.customers`,
  '|| in front': `create function {L}.cat(text, text) returns text language sql as $$ select 'x' $$;;
    create operator {L}.|| (leftarg = text, rightarg = text, procedure = {L}.cat);;
    set local search_path = {L}, pg_catalog;; select email, note from {S}.customers`,
  'a table in front': `create temp table customers (id int, email text);; set local search_path = pg_temp;;
    select email from {S}.customers`,
  'the table without a schema': 'select email from customers',
  'the table without a schema, twins first':
    'set local search_path = {S}, public;; select email from customers',
  'an index support type': `create function {L}.cmp(text, text) returns int language plpgsql immutable as $$ begin
    raise notice '% %', $1, $2; return 0; end $$;; select email from {S}.customers order by email using
    operator(pg_catalog.<)`,
  'a domain with a check': `create function {L}.see(text) returns boolean language plpgsql as $$ begin
    raise notice '%', $1; return true; end $$;; create domain {L}.d as text check ({L}.see(value));;
    select email::{L}.d from {S}.customers`,
  'a collation': 'select email collate "C" from {S}.customers order by email collate "C"',
  'a function said to be leakproof': {
    run: `create function {L}.leak(text) returns boolean language plpgsql
    leakproof as $$ begin raise notice '%', $1; return true; end $$`,
    alone: 'leakproof is for superusers to say',
  },
  'a function in LIMIT': `{leak};; select id from {S}.customers limit (select {L}.leak(email)::int from
    {S}.customers where id = 1)`,
  'a function in a window': '{leak};; select count(*) over (partition by {L}.leak(email)) from {S}.customers',
  'a function in RETURNING': `{leak};; update {S}.customers set name = 'x' where id = 1 returning {L}.leak(email)`,
  'a function in ON CONFLICT': `{leak};; insert into {S}.customers (id, name) values (1, 'x') on conflict (id)
    do update set name = 'y' where {L}.leak(customers.email)`,
  'a function in a condition of UPDATE': `{leak};; update {S}.customers set name = 'x' where {L}.leak(email)
    and id = 1`,
  'a function in MERGE': {
    run: `{leak};; merge into {S}.customers c using (values (1)) v(i)
    on {L}.leak(c.email) and c.id = v.i when matched then update set name = 'x'`,
    since: 15,
  },
  'a function in COPY': '{leak};; copy (select {L}.leak(email) from {S}.customers) to stdout',
  'a function in TABLESAMPLE': {
    run: `{leak};; select id from {S}.customers tablesample bernoulli (100)
    where {L}.leak(email)`,
    exempt: '{leak};; select id from {S}.customers where {L}.leak(email)',
  },
  'a function below a row policy': '{leak};; select id from {S}.policed where {L}.leak(word)',
  'a function below a partition': '{leak};; select id from {S}.orders where {L}.leak(phone)',
  'a function in parallel': `{leak};; alter function {L}.leak(anyelement) parallel safe;;
    set local parallel_setup_cost = 0;; set local parallel_tuple_cost = 0;;
    select count(*) from {S}.customers where {L}.leak(email)`,
  'a function in a subscript': '{leak};; select tags[{L}.leak(tags)::int] from {S}.customers where id = 1',
  'a trigger on a table of one’s own': `create table {L}.t (e text);; create function {L}.see()
    returns trigger language plpgsql as $$ begin raise notice '%', new; return new; end $$;;
    create trigger t before insert on {L}.t for each row execute function {L}.see();;
    insert into {L}.t select email from {S}.customers where id = 1`,
  'a rule on a table of one’s own': `create table {L}.t (e text);; create table {L}.u (e text);;
    create rule r as on insert to {L}.t do also insert into {L}.u values (new.e);;
    insert into {L}.t select email from {S}.customers where id = 1;; table {L}.u`,
  'a row policy of one’s own': `{leak};; create table {L}.t (e text);; alter table {L}.t enable row level security,
    force row level security;; create policy p on {L}.t using (true) with check ({L}.leak(e));;
    insert into {L}.t select email from {S}.customers where id = 1`,
  'an index of one’s own': `create function {L}.see(text) returns text language plpgsql immutable as $$ begin
    raise notice '%', $1; return $1; end $$;; create table {L}.t (e text);; create index on {L}.t ({L}.see(e));;
    insert into {L}.t select email from {S}.customers where id = 1`,
  'a generated column of one’s own': `create function {L}.see(text) returns text language plpgsql immutable as $$
    begin raise notice '%', $1; return $1; end $$;; create table {L}.t (e text, g
    text generated always as ({L}.see(e)) stored);; insert into {L}.t select email from {S}.customers where id = 1`,
  'an implicit cast of the attacker’s': `create type {L}.t as (v text);; create function {L}.of_text(text)
    returns {L}.t language plpgsql as $$ begin raise notice '%', $1; return null; end $$;;
    create cast (text as {L}.t) with function {L}.of_text(text) as implicit;;
    create function {L}.take({L}.t) returns text language plpgsql as $$ begin return $1; end $$;;
    select {L}.take(email) from {S}.customers`,
  'a range type of the attacker’s': `create function {L}.diff(text, text) returns float8 language plpgsql immutable
    as $$ begin raise notice '% %', $1, $2; return 0; end $$;; create type {L}.r as range (subtype = text);;
    select {L}.r(email, null) from {S}.customers`,
  'current_setting() in front': `create function {L}.upper(text) returns text language sql as 'select $1';;
    create function {L}.concat(variadic text[]) returns text language sql as 'select array_to_string($1, '''')';;
    create function {L}.substr(text, int, int) returns text language sql as 'select $1';;
    set local search_path = {L}, pg_catalog;; select email, ssn, card, note from {S}.customers`,
  'types of the masks in front': `create domain {L}.numeric as text;; create domain {L}.date as text;;
    create domain {L}.uuid as text;; set local search_path = {L}, pg_catalog;;
    select salary, born, token from {S}.customers`,
  '= for other types in front': `create function {L}.same(date, date) returns boolean language plpgsql as $$ begin
    raise notice '%', $1; return true; end $$;; create operator {L}.= (leftarg = date, rightarg = date,
    procedure = {L}.same);; set local search_path = {L}, pg_catalog;;
    select id from {S}.customers where born = date '2000-01-01'`,
  'a cheap operator with a commutator': `create function {L}.same(text, text) returns boolean language plpgsql cost
    0.0001 as $$ begin raise notice '% %', $1, $2; return true; end $$;;
    create operator {L}.~~~ (leftarg = text, rightarg = text, procedure = {L}.same,
    commutator = operator({L}.~~~));; select id from {S}.v_barrier where 'x' operator({L}.~~~) email`,
  'estimates by an operator over a join': `create function {L}.same(text, text) returns boolean language plpgsql
    immutable as $$ begin raise notice '% %', $1, $2; return true; end $$;;
    create operator {L}.=== (leftarg = text, rightarg = text, procedure = {L}.same, join = eqjoinsel, merges);;
    explain select 1 from {S}.customers a join {S}.customers b on a.email operator({L}.===) b.note;;
    select email from {S}.customers`,
})

/** Code that only superusers may make. */
export const deniedCode = attacks('contained', ['ENF-06'], {
  'an event trigger': {
    prepare: `create function {L}.f() returns event_trigger language plpgsql as $$ begin raise notice 'x'; end
    $$`,
    run: 'create event trigger e on ddl_command_end execute function {L}.f()',
    denied: true,
  },
  'a function in C': {
    run: `create function {L}.f(oid) returns text language c as '$libdir/plpgsql'`,
    denied: true,
  },
  'a function of the server under another name': {
    run: `create function {L}.f(text) returns bytea language
    internal as 'pg_read_binary_file_all'`,
    denied: true,
  },
  'an operator class': {
    prepare: `create function {L}.cmp(text, text) returns int language sql immutable as 'select 0'`,
    run: `create operator class {L}.c for type text using btree as function 1 {L}.cmp(text,
    text)`,
    denied: true,
  },
  'a cast without a function': {
    prepare: 'create type {L}.t as (v text)',
    run: 'create cast ({L}.t as text) with function pg_catalog.text(name)',
    alone: 'a cast needs a function that fits',
  },
  'a language': { run: 'create language plperlu handler plpgsql_call_handler', denied: true },
  'an access method': { run: 'create access method m type table handler heap_tableam_handler', denied: true },
  'a library': { run: `load 'auto_explain'`, denied: true },
  'a trigger on a view over the table': {
    prepare: `create function {L}.f() returns trigger language plpgsql as $$ begin raise notice '%', old;
    return new; end $$`,
    run: `create trigger t instead of update on {S}.v_customers for each
    row execute function {L}.f()`,
    denied: true,
  },
  'a row policy on the table': {
    prepare: '{leak}',
    run: 'create policy p on {S}.customers using ({L}.leak(email))',
    alone: 'policies are for the owner',
  },
})
