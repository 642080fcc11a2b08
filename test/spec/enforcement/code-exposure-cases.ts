import type { Database } from '../../../src/db/database.ts'
import type { ExposureCase } from './exposure-cases.ts'

/** Has code of the session run as the owner, who changes a table; returns what the code kept, and removes it again. */
const runAsOwner =
  (make: string, change: string, clean = '') =>
  async (session: Database, owner: Database) => {
    await session.sql.unsafe(`drop table if exists own.kept; create table own.kept (seen text);
      create or replace function own.keep() returns trigger language plpgsql as $f$ begin
        insert into own.kept select email from public.person; return null; end $f$; ${make}`)
    await owner.sql.unsafe(`${change}; ${clean}`)
    return JSON.stringify(await session.sql.unsafe('select seen from own.kept'))
  }

/** A table without a mask that everyday statements are about, and a schema of the analyst's. */
const besides =
  "create table public.country (id int primary key, name text); insert into public.country values (1, 'x'); create schema own authorization $analyst"

/** A cast of the analyst's own in a foreign key to it. */
const castInKey = `create type own.k as enum ('a');
  create function own.cast(own.k) returns int language plpgsql as $$ begin raise exception '%', (select email from public.person limit 1); end $$;
  create cast (own.k as int) with function own.cast(own.k) as implicit;
  create table own.letter (x own.k references public.country (id)); insert into own.letter values ('a')`

/** A check that the analyst adds to its domain, and that is run for what the owner writes. */
const checkOfDomain = (write: string, clean = '') =>
  runAsOwner(
    `create or replace function own.check(text) returns boolean language plpgsql as $f$ begin
      insert into own.kept select email::text from public.person; return true; end $f$;
      alter domain own.mail add constraint shown check (own.check(value)) not valid`,
    write,
    `alter domain own.mail drop constraint shown; ${clean}`,
  )

/** A table of the analyst's, and a view of the exempt role over it. */
const lentTable = `grant select on public.person to $etl; create schema own authorization $analyst; create table own.mine (a int);
  insert into own.mine values (1); alter table own.mine owner to $analyst; grant usage on schema own to $etl; grant select on own.mine to $etl;
  create view public.pane as select * from own.mine; alter view public.pane owner to $etl; grant select on public.pane to $analyst`

const policyThatShows = `create function own.show(text) returns boolean language plpgsql as $$ begin raise exception '%', $1; end $$;
  alter table own.mine enable row level security; create policy shown on own.mine using (own.show((select email from public.person limit 1)))`

/** Ranges of texts, with functions of the analyst's. PL/pgSQL refuses a type that is not made yet. */
const rangeOfOwn = `create schema own authorization $analyst; create type own.span;
  create function own.tidy(own.span) returns own.span immutable language internal as 'int4range_canonical';
  create function own.apart(text, text) returns float8 immutable language plpgsql as 'begin return 1; end';
  create type own.span as range (subtype = text, subtype_diff = own.apart, canonical = own.tidy);
  create or replace function own.tidy(own.span) returns own.span immutable language plpgsql as 'begin return $1; end';
  alter function own.tidy(own.span) owner to $analyst; alter function own.apart(text, text) owner to $analyst`

/** Ways by which code of a masked role gets raw values, or runs with the rights of a role that sees them. */
export const codeExposureCases: readonly ExposureCase[] = [
  {
    code: 'ReferencesCode',
    what: 'REFERENCES on a table without a mask',
    severity: 'high',
    before: besides,
    setup: 'grant all on public.country to $analyst',
    leak: castInKey,
  },
  {
    code: 'ReferencesCode',
    what: 'REFERENCES on its key alone, by membership',
    roles: { crew: 'NOLOGIN' },
    before: `${besides}; grant $crew to $analyst`,
    setup: 'grant references (id) on public.country to $crew',
    leak: castInKey,
  },
  {
    code: 'ReferencesCode',
    what: 'REFERENCES for every role on a table of an exempt role',
    roles: { etl: 'LOGIN' },
    exempt: ['etl'],
    before: `${besides}; grant select on public.person to $etl; alter table public.country owner to $etl;
      grant usage on schema own to $etl`,
    setup: 'grant references on public.country to public',
    leak: castInKey,
  },
  {
    code: 'ReferencesCode',
    what: 'REFERENCES on the masked table itself',
    before: 'create schema own authorization $analyst',
    setup: 'grant references on public.person to $analyst',
    leak: castInKey.replace('public.country', 'public.person'),
  },
  {
    code: 'TriggerCode',
    what: 'TRIGGER on a table without a mask',
    severity: 'high',
    before: besides,
    setup: 'grant all on public.country to $analyst',
    leak: runAsOwner(
      'create trigger keep after update on public.country execute function own.keep()',
      "update public.country set name = 'y'",
      'drop trigger keep on public.country',
    ),
  },
  {
    code: 'ForeignKeyCode',
    what: 'a foreign key that compares by a cast of a masked role',
    severity: 'high',
    before: `${besides}; grant references on public.country to $analyst; set role $analyst; create type own.k as enum ('a');
      create function own.cast(own.k) returns int language sql as 'select 1';
      create cast (own.k as int) with function own.cast(own.k) as implicit;
      create table own.letter (x own.k references public.country (id)); reset role; revoke references on public.country from $analyst`,
    leak: `create or replace function own.cast(own.k) returns int language plpgsql as $$ begin raise exception '%', (select email from public.person limit 1); end $$;
      insert into own.letter values ('a')`,
  },
  {
    code: 'ForeignKeyCode',
    what: 'a foreign key of a masked role that acts, before 18',
    versions: { below: 180000 },
    before: `${besides}; grant references on public.country to $analyst; grant select on public.country to $analyst; set role $analyst;
      create table own.letter (x int references public.country (id) on update cascade); reset role; revoke references on public.country from $analyst`,
    leak: runAsOwner(
      `create or replace trigger keep after update on own.letter for each row execute function own.keep();
        truncate own.letter; insert into own.letter select id from public.country`,
      'update public.country set id = id + 1',
      '',
    ),
  },
  {
    code: 'PolicyCode',
    what: 'a view of an exempt role over a table of a masked role',
    severity: 'medium',
    roles: { etl: 'LOGIN' },
    exempt: ['etl'],
    before: lentTable,
    leak: `${policyThatShows}; select * from public.pane`,
  },
  {
    code: 'PolicyCode',
    what: 'such a view where the table has a row policy',
    severity: 'high',
    roles: { etl: 'LOGIN' },
    exempt: ['etl'],
    before: `${lentTable}; alter table own.mine enable row level security; create policy each on own.mine using (false)`,
    leak: `${policyThatShows}; select * from public.pane`,
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-224',
    what: 'a check that calls a function of a masked role with the row as a whole',
    severity: 'high',
    before: `create schema own authorization $analyst; grant update (id) on public.person to $analyst;
      create function own.fits(public.person) returns boolean language sql as 'select true';
      alter function own.fits(public.person) owner to $analyst; alter table public.person add check (own.fits(person))`,
    leak: `create or replace function own.fits(public.person) returns boolean language plpgsql as $$ begin raise exception '%', ($1).email; end $$;
      update public.person set id = 2`,
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-223',
    what: 'a default of a table without a mask',
    severity: 'high',
    before: `create schema own authorization $analyst; create function own.next() returns int language sql as 'select 1';
      alter function own.next() owner to $analyst; create table public.country (id int default own.next())`,
    leak: runAsOwner(
      `create or replace function own.next() returns int language plpgsql as $f$ begin
        insert into own.kept select email from public.person; return 1; end $f$`,
      'insert into public.country default values',
    ),
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-223',
    what: 'a check of a domain and a partition key',
    severity: 'high',
    before: `create schema own authorization $analyst; create function own.fits(int) returns boolean immutable language plpgsql as 'begin return $1 > 0; end';
      alter function own.fits(int) owner to $analyst; create domain public.number as int check (own.fits(value));
      create table public.country (id public.number); create table public.part (id int) partition by list (own.fits(id))`,
    leak: runAsOwner(
      `create or replace function own.fits(int) returns boolean language plpgsql as $f$ begin
        insert into own.kept select email from public.person; return true; end $f$`,
      'insert into public.country values (1)',
    ),
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-223',
    what: 'an index of a table without a mask, by an operator class',
    severity: 'high',
    before: `create schema own authorization $analyst; create table public.country (id int);
      create function own.compare(int, int) returns int immutable language sql as 'select $1 - $2';
      alter function own.compare(int, int) owner to $analyst;
      create operator class public.reversed for type int using btree as operator 1 <, operator 2 <=, operator 3 =, operator 4 >=,
        operator 5 >, function 1 own.compare(int, int);
      create index on public.country (id public.reversed)`,
    leak: runAsOwner(
      `create or replace function own.compare(int, int) returns int language plpgsql as $f$ begin
        insert into own.kept select email from public.person; return 1; end $f$`,
      'insert into public.country values (1), (2)',
    ),
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-223',
    what: 'a function of a masked role in an event trigger',
    severity: 'high',
    before: `create schema own authorization $analyst;
      create function own.watch() returns event_trigger language plpgsql as 'begin end'; alter function own.watch() owner to $analyst;
      create event trigger $watch on ddl_command_start when tag in ('COMMENT') execute function own.watch()`,
    leak: runAsOwner(
      `create or replace function own.watch() returns event_trigger language plpgsql as $f$ begin
        insert into own.kept select email from public.person; end $f$`,
      "comment on table public.person is 'people'",
    ),
  },
  {
    code: 'DomainOwner',
    clause: 'ENF-223',
    what: 'a masked column of an array of a domain that a masked role owns',
    severity: 'high',
    before: `create schema own authorization $analyst; create domain own.mail as text; alter domain own.mail owner to $analyst;
      alter table public.person alter email type own.mail[] using array[email]`,
    leak: checkOfDomain(
      `insert into public.person values (2, '{x}')`,
      'delete from public.person where id = 2',
    ),
  },
  {
    code: 'DomainOwner',
    clause: 'ENF-223',
    what: 'a table without a mask with a composite of such a domain',
    severity: 'high',
    before: `create schema own authorization $analyst; create domain own.mail as text; alter domain own.mail owner to $analyst;
      create type public.pair as (mail own.mail, id int); create table public.letter (pair public.pair)`,
    leak: checkOfDomain("insert into public.letter values (row ('x', 1))"),
  },
  ...[
    {
      what: 'a check of the masked table that casts to such a domain',
      before: 'alter table public.person add check (email::own.mail is not null)',
      write: "insert into public.person values (2, 'x')",
      clean: 'delete from public.person where id = 2',
    },
    {
      what: 'an index of a table without a mask that does',
      before:
        'create table public.letter (text text); create index on public.letter (((text::own.mail)::text))',
      write: "insert into public.letter values ('x')",
    },
    {
      what: 'a default that does, inside of an array',
      before: `create table public.letter (text text default (('{' || 'x}')::own.mail[])[1])`,
      write: 'insert into public.letter default values',
    },
    {
      what: 'a view that does',
      before: 'create view public.letters as select id::text::own.mail as id from public.person',
      write: 'select * from public.letters',
    },
    {
      what: 'a check of another domain that does',
      before: `create domain public.address as text check (value::own.mail is not null); create table public.letter (to_it public.address)`,
      write: "insert into public.letter values ('x')",
    },
    {
      what: 'JSON_VALUE in a check that returns such a domain',
      versions: { from: 170000 },
      before: `create table public.letter (about jsonb check (json_value(about, '$.a' returning own.mail) is not null))`,
      write: `insert into public.letter values ('{"a": "x"}')`,
    },
    {
      what: 'JSON_TABLE in a view that does',
      versions: { from: 170000 },
      before: `create view public.letters as
        select l.* from public.person, json_table(jsonb '{"a": "x"}', '$' columns (a own.mail path '$.a')) l`,
      write: 'select * from public.letters',
    },
  ].map(
    ({ what, before, write, clean = '', ...more }): ExposureCase => ({
      code: 'DomainOwner',
      clause: 'ENF-336',
      what,
      severity: 'high',
      before: `create schema own authorization $analyst; create domain own.mail as text; ${before};
      alter domain own.mail owner to $analyst`,
      leak: checkOfDomain(write, clean),
      ...more,
    }),
  ),
  {
    code: 'RoutineOwner',
    clause: 'ENF-337',
    what: 'a masked column of ranges that a function of a masked role compares',
    severity: 'high',
    before: `${rangeOfOwn}; alter table public.person alter email type own.span using own.span(email, email, '[]'),
      add exclude using gist (email with &&)`,
    leak: runAsOwner(
      `create or replace function own.apart(text, text) returns float8 language plpgsql as $f$ begin
        insert into own.kept values ($1); return 1; end $f$`,
      'analyze public.person',
    ),
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-337',
    what: 'such ranges of a table without a mask, in an array of multiranges',
    versions: { from: 140000 },
    severity: 'high',
    before: `${rangeOfOwn}; create table public.letter (spans own.span_multirange[])`,
  },
  {
    code: 'RoutineOwner',
    clause: 'ENF-337',
    what: 'a check that makes such a range',
    severity: 'high',
    before: `${rangeOfOwn}; create table public.letter (a text, b text, check (not isempty(own.span(a, b))))`,
    leak: runAsOwner(
      `create or replace function own.tidy(own.span) returns own.span language plpgsql as $f$ begin
        insert into own.kept select email from public.person; return $1; end $f$`,
      "insert into public.letter values ('a', 'b')",
    ),
  },
]
