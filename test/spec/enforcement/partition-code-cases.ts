import { both, etl, keepBy } from './code-that-keeps.ts'
import type { ExposureCase } from './exposure-cases.ts'

/** Runs while a check of it is made, which the role itself may not do with raw values, and while a statement is planned. */
const evil = `create or replace function own.evil(int) returns int language plpgsql immutable as $f$ begin
  begin perform own.keep(); exception when others then null; end; return 1; end $f$`

/** PostgreSQL evaluates checks of constants when it plans a statement with a condition. */
const checkIn = (run: string, by: 'session' | 'owner' = 'session') =>
  keepBy(
    `${evil}; alter table own.part drop constraint if exists shown; alter table own.part add constraint shown check (own.evil(1) = 1)`,
    run,
    by,
    'alter table own.part drop constraint shown',
  )

const triggerIn = (when: string, run: string) =>
  keepBy(
    `create or replace function own.fire() returns trigger language plpgsql as $f$ begin perform own.keep(); return coalesce(new, old); end $f$;
      drop trigger if exists fire on own.part; create trigger fire ${when} on own.part for each row execute function own.fire()`,
    run,
    'session',
    'drop trigger fire on own.part',
  )

/** PostgreSQL evaluates expressions of indexes as soon as it plans a statement about their table. */
const indexIn = (by: 'session' | 'owner') =>
  keepBy(
    `${evil}; drop index if exists own.shown; create index shown on own.part ((own.evil(1)))`,
    'refresh materialized view public.mv',
    by,
    'drop index own.shown',
  )

const castToJson = `create or replace function own.told(own.e) returns json language sql as $f$ select to_json(own.keep()) $f$;
  drop cast if exists (own.e as json); create cast (own.e as json) with function own.told(own.e)`

const ofAnalyst = 'alter table own.part owner to $analyst'

/** Ways by which tables below those of a role that sees raw values run code of a masked role. */
export const partitionCodeCases: readonly ExposureCase[] = [
  {
    code: 'PartitionCode',
    clause: 'ENF-451',
    what: 'a check of a partition of a table that a foreign key is about',
    severity: 'high',
    before: `create schema own authorization $analyst; create table public.stock (id int primary key) partition by list (id);
      create table own.part partition of public.stock for values in (1); insert into public.stock values (1);
      create table public.sale (stock int references public.stock); grant insert on public.sale to $analyst`,
    setup: ofAnalyst,
    leak: checkIn('insert into public.sale values (1)'),
  },
  {
    code: 'PartitionCode',
    clause: 'ENF-451',
    what: 'a trigger of a partition, two levels below, of a table with a foreign key that deletes its rows',
    severity: 'high',
    before: `create schema own authorization $analyst; create table public.client (id int primary key); insert into public.client values (1), (2);
      create table public.line (client int references public.client on delete cascade, at int) partition by list (at);
      create table public.lines partition of public.line for values in (1) partition by list (at);
      create table own.part partition of public.lines for values in (1);
      insert into public.line values (1, 1), (2, 1); grant select, delete on public.client to $analyst`,
    setup: ofAnalyst,
    leak: triggerIn(
      'before delete',
      'delete from public.client where id = (select min(id) from public.client)',
    ),
  },
  {
    code: 'PartitionCode',
    clause: 'ENF-451',
    what: 'a check of a child of a table that its owner reads',
    severity: 'medium',
    before: `create schema own authorization $analyst; create table public.parent (a int); create table own.part () inherits (public.parent)`,
    setup: ofAnalyst,
    leak: checkIn('select * from public.parent where a = 1', 'owner'),
  },
  ...[`as 'BODY' set search_path = pg_catalog, pg_temp`, 'begin atomic BODY; end'].map(
    (text, at): ExposureCase => ({
      ...etl,
      code: 'DefinerCode',
      clause: 'ENF-452',
      what: `a definer function that reads a table of which a masked role owns a partition${at === 0 ? '' : ', bound'}`,
      severity: 'high',
      versions: { from: 140000 },
      before: `${both}; set role $etl; create table desk.lines (a int) partition by list (a); reset role;
        create table own.part partition of desk.lines for values in (1); grant select on own.part to $etl; set role $etl;
        create function desk.count() returns int language sql security definer ${text.replace('BODY', 'select max(a) from desk.lines where a = 1')}; reset role`,
      setup: ofAnalyst,
      leak: checkIn('select desk.count()'),
    }),
  ),
  {
    ...etl,
    code: 'ForeignKeyCode',
    clause: 'ENF-452',
    what: 'a partition of a table of another masked role, whose rows a foreign key changes',
    roles: { etl: 'LOGIN', clerk: 'LOGIN' },
    severity: 'high',
    versions: { below: 180000 },
    before: `create schema own authorization $analyst; create table public.client (id int primary key); insert into public.client values (1), (2);
      create table public.line (client int references public.client on delete cascade, at int) partition by list (at);
      alter table public.line owner to $clerk; create table own.part partition of public.line for values in (1);
      insert into public.line values (1, 1), (2, 1)`,
    setup: ofAnalyst,
  },
  {
    code: 'ViewCode',
    clause: 'ENF-453',
    what: 'a materialized view of a superuser over a table of a masked role that may refresh it',
    severity: 'high',
    versions: { from: 170000 },
    before: `create schema own authorization $analyst; create table own.part (a int); create materialized view public.mv as select * from own.part;
      grant maintain on public.mv to $analyst`,
    setup: ofAnalyst,
    leak: indexIn('session'),
  },
  {
    code: 'ViewCode',
    clause: 'ENF-453',
    what: 'one over a view over a table of which a masked role owns a partition, that its owner refreshes',
    before: `create schema own authorization $analyst; create table public.lines (a int) partition by list (a);
      create table own.part partition of public.lines for values in (1); create view public.pane as select * from public.lines;
      create materialized view public.mv as select * from public.pane`,
    setup: ofAnalyst,
    leak: indexIn('owner'),
  },
  ...[
    { what: 'of any type', type: 'anyelement' },
    { what: 'of any array', type: 'anyarray', value: "array['a'::own.e]" },
    { what: 'of a type of the role', type: 'own.e' },
  ].map(
    ({ what, type, value = "'a'::own.e" }): ExposureCase => ({
      ...etl,
      code: 'DefinerArgument',
      clause: 'ENF-454',
      what: `a definer function with an argument ${what}`,
      severity: 'medium',
      before: `${both}; create type own.e as enum ('a'); alter type own.e owner to $analyst; grant usage on type own.e to public; set role $etl;
        create function desk.say(a ${type}) returns text language plpgsql security definer as
        'begin return ${type === 'anyarray' ? 'a[1]' : 'a'}::text; end' set search_path = pg_catalog, pg_temp; revoke execute on function desk.say from public; reset role`,
      setup: 'grant execute on function desk.say to $analyst',
      leak: keepBy(
        `create or replace function own.shown(own.e) returns text language sql as $f$ select own.keep()::text $f$;
          drop cast if exists (own.e as text); create cast (own.e as text) with function own.shown(own.e)`,
        `select desk.say(${value})`,
        'session',
        'drop cast (own.e as text)',
      ),
    }),
  ),
  {
    ...etl,
    code: 'DefinerArgument',
    clause: 'ENF-454',
    what: 'a definer trigger function, by a trigger of a table of the role',
    severity: 'medium',
    before: `${both}; create type own.e as enum ('a'); alter type own.e owner to $analyst; set role $etl; create table desk.log (what json);
      create function desk.note() returns trigger language plpgsql security definer as
      'begin insert into desk.log values (row_to_json(new)); return new; end' set search_path = pg_catalog, pg_temp;
      revoke execute on function desk.note from public; reset role`,
    setup: 'grant execute on function desk.note to public',
    leak: keepBy(
      `${castToJson}; create table own.noted (e own.e)`,
      `create trigger note before insert on own.noted for each row execute function desk.note(); insert into own.noted values ('a')`,
      'session',
      'drop table own.noted; drop cast (own.e as json)',
    ),
  },
  {
    ...etl,
    code: 'DefinerArgument',
    clause: 'ENF-454',
    what: 'a definer function that fetches from a cursor of the caller',
    severity: 'medium',
    before: `${both}; set role $etl;
      create function desk.count(c refcursor) returns int language plpgsql security definer as
      'declare r record; begin fetch c into r; return 1; end' set search_path = pg_catalog, pg_temp;
      revoke execute on function desk.count from public; reset role`,
    setup: 'grant execute on function desk.count to $analyst',
    leak: keepBy('select 1', `declare c cursor for select own.keep(); select desk.count('c')`),
  },
]
