import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { canary, type ExposureCase } from './exposure-cases.ts'

/** The notices and rows of statements that a session runs under a search path of its own. Undone afterwards. */
const noticesOf =
  (make: string, run: string) => async (_session: Database, _owner: Database, url: string) => {
    const me = decodeURIComponent(new URL(url).username)
    const client = new pg.Client({ connectionString: url })
    const seen: string[] = []
    client.on('notice', ({ message }) => seen.push(message ?? ''))
    await client.connect()
    const rows = await client
      .query(`begin; ${make.replaceAll('@me', me)}; set local search_path = own, pg_catalog; ${run}`)
      .then((results) => [results].flat().map((result) => result.rows))
      .catch((error: Error) => error.message)
      .finally(() => client.end())
    return JSON.stringify([seen, rows])
  }

/** A function of the analyst's that takes the place of one of the server. */
const evil = (name: string, type = 'text') =>
  `create or replace function own.${name}(${type}) returns text language plpgsql as $f$ begin raise notice '%', $1; return pg_catalog.${name}($1::text); end $f$`

const own = 'create schema own authorization $analyst'
const lowered = `create function public.norm(t text) returns text language sql immutable as 'select lower(t)'`
const valid = `create function public.valid(t text) returns boolean language plpgsql immutable as 'begin return lower(t) <> ''''; end'`
const update = 'update public.person set note = note'
const written = 'grant update (note) on public.person to $analyst'

const staff = `create function public.staff(t text) returns boolean language sql as 'select lower(t) like ''z%'''`
const reads = 'exists (select from public.person p where p.id = doc.id and public.staff(p.email))'

const usual = {
  code: 'RoutineSearchPath',
  clause: 'ENF-467',
  severity: 'high',
  leak: noticesOf(evil('lower'), update),
} satisfies Partial<ExposureCase>

/** Functions in text that PostgreSQL calls with masked columns, and whose names a masked role can lead to objects of its own. */
export const pathCodeCases: readonly ExposureCase[] = [
  {
    ...usual,
    what: 'a row policy that calls a function in SQL, for a role that reads',
    before: `${own}; create function public.staff(t text) returns boolean language sql as 'select lower(t) like ''z%''';
      create policy p on public.person using (public.staff(email)); alter table public.person enable row level security`,
    leak: noticesOf(evil('lower'), 'select id from masked_public.person'),
  },
  {
    ...usual,
    what: 'such a policy for a role that may do nothing but temporary objects',
    before: `create domain public.mailaddr as text; create function public.staff(t text) returns boolean language plpgsql as
      'declare v mailaddr := t; begin return v is not null; end';
      create policy p on public.person for select using (public.staff(email)); alter table public.person enable row level security`,
    leak: noticesOf(
      `create function pg_temp.f(text) returns boolean language plpgsql as $f$ begin raise notice '%', $1; return true; end $f$;
        create domain pg_temp.mailaddr as text check (pg_temp.f(value))`,
      'set local search_path = public; select id from masked_public.person',
    ),
  },
  {
    ...usual,
    what: 'a policy whose function sets a path that temporary types come before',
    severity: 'medium',
    before: `create domain public.mailaddr as text; create function public.staff(t text) returns boolean language plpgsql set search_path = public as
      'declare v mailaddr := t; begin return v is not null; end';
      create policy p on public.person for select using (public.staff(email)); alter table public.person enable row level security`,
    leak: noticesOf(
      `create function pg_temp.f(text) returns boolean language plpgsql as $f$ begin raise notice '%', $1; return true; end $f$;
        create domain pg_temp.mailaddr as text check (pg_temp.f(value))`,
      'select id from masked_public.person',
    ),
  },
  {
    ...usual,
    what: 'a policy whose function sets a path with a schema of the masked role',
    before: `${own}; create function public.staff(t text) returns boolean language sql set search_path = own, pg_catalog, pg_temp as 'select lower(t) like ''z%''';
      create policy p on public.person using (public.staff(email)); alter table public.person enable row level security; grant usage on schema own to public`,
    leak: noticesOf(evil('lower'), 'select id from masked_public.person'),
  },
  {
    ...usual,
    what: 'a policy whose function sets the schema of its caller',
    before: `${own}; create schema authorization $analyst; create function public.staff(t text) returns boolean language sql as 'select lower(t) like ''z%'' ';
      do $$ begin execute format('alter function public.staff set search_path = "%suser", pg_catalog, pg_temp', chr(36)); end $$;
      create policy p on public.person using (public.staff(email)); alter table public.person enable row level security`,
    leak: noticesOf(evil('lower').replace('own.', '"@me".'), 'select id from masked_public.person'),
  },
  {
    ...usual,
    what: 'a policy of DELETE',
    before: `${own}; ${valid}; create policy r on public.person for select using (true); create policy p on public.person for delete using (public.valid(email));
      alter table public.person enable row level security`,
    setup: 'grant delete on public.person to $analyst',
    leak: noticesOf(evil('lower'), 'delete from public.person'),
  },
  {
    ...usual,
    what: 'a check, for a role that updates another column',
    before: `${own}; ${valid}; alter table public.person add check (public.valid(email))`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check by an operator',
    before: `${own}; create function public.same(text, text) returns boolean language plpgsql as 'begin return lower($1) <> $2; end';
      create operator public.<~> (leftarg = text, rightarg = text, procedure = public.same); alter table public.person add check (email operator(public.<~>) 'x')`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check by a cast',
    before: `${own}; create type public.box as (t text); create function public.boxed(t text) returns public.box language plpgsql as 'declare b public.box; begin b.t := lower(t); return b; end';
      create cast (text as public.box) with function public.boxed(text); alter table public.person add check ((email::public.box) is not null)`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check by a polymorphic function',
    before: `${own}; create function public.any_valid(anyelement) returns boolean language plpgsql as 'begin return lower($1) <> ''''; end';
      alter table public.person add check (public.any_valid(email))`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check by a body that is bound and calls a function in text',
    versions: { from: 140000 },
    before: `${own}; ${valid}; create function public.outer(t text) returns boolean language sql immutable return public.valid(t) and t <> '';
      alter table public.person add check (public.outer(email))`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check of a domain that a check casts to',
    before: `${own}; ${valid}; create domain public.mailaddr as text check (public.valid(value)); alter table public.person add check ((email::public.mailaddr) is not null)`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check of the whole row',
    before: `${own}; create function public.fits(p public.person) returns boolean language plpgsql as 'begin return lower(p.email) <> ''''; end';
      alter table public.person add check (public.fits(person))`,
    setup: written,
  },
  {
    ...usual,
    what: 'a check of a table above, for a role that may write the table above',
    before: `${own}; ${valid}; create table public.split (id int, email text, note text); create table public.part () inherits (public.split);
      insert into public.part values (1, '${canary}', 'x'); alter table public.part add check (public.valid(email))`,
    setup: 'grant update (note) on public.split to $analyst',
    leak: noticesOf(evil('lower'), "update public.split set note = 'y'"),
  },
  {
    ...usual,
    what: 'an expression of an index',
    before: `${own}; ${lowered}; create index on public.person (note); create index on public.person (public.norm(email))`,
    setup: written,
    leak: noticesOf(evil('lower'), "update public.person set note = note || 'x'"),
  },
  {
    ...usual,
    what: 'the condition of an index',
    before: `${own}; ${valid}; create index on public.person (note) where public.valid(email)`,
    setup: written,
    leak: noticesOf(evil('lower'), "update public.person set note = note || 'x'"),
  },
  {
    ...usual,
    what: 'an exclusion constraint',
    before: `${own}; ${lowered}; alter table public.person add exclude (public.norm(email) with =, note with =)`,
    setup: written,
    leak: noticesOf(evil('lower'), "update public.person set note = note || 'x'"),
  },
  {
    ...usual,
    what: 'a generated column, under a trigger',
    before: `${own}; ${lowered}; alter table public.person add norm text generated always as (public.norm(email)) stored;
      create function public.keep() returns trigger language plpgsql as 'begin return new; end'; create trigger keep before update on public.person for each row execute function public.keep()`,
    setup: written,
  },
  {
    ...usual,
    what: 'a partition key',
    before: `${own}; ${lowered}; create table public.split (id int, email text, note text) partition by list (public.norm(email));
      create table public.split_z partition of public.split for values in ('${canary}'); insert into public.split values (1, '${canary}', 'x')`,
    setup: 'grant update (note) on public.split to $analyst',
    leak: noticesOf(evil('lower'), "update public.split set note = 'y'"),
  },
  {
    ...usual,
    what: 'a function that compares bounds of ranges in an index',
    before: `${own}; create function public.apart(text, text) returns float8 language plpgsql immutable as 'begin return length(lower($1)); end';
      create type public.span as range (subtype = text, subtype_diff = public.apart); create table public.split (id int, email public.span, note text);
      create index on public.split using gist (email); insert into public.split select i, public.span('${canary}' || i, '${canary}' || i || 'x'), 'x' from generate_series(1, 600) i;
      create index on public.split (note)`,
    setup: 'grant update (note) on public.split to $analyst',
    leak: noticesOf(evil('lower'), "update public.split set note = 'y'"),
  },
  {
    ...usual,
    what: 'a trigger that writes a table by its bare name',
    before: `create table public.history (id int, email text); grant insert on public.history to public;
      create function public.note() returns trigger language plpgsql as 'begin insert into history values (old.id, old.email); return new; end';
      create trigger note after update on public.person for each row execute function public.note()`,
    setup: written,
    leak: noticesOf(
      'create temp table history (id int, email text)',
      `set local search_path = public; ${update}; select * from pg_temp.history`,
    ),
  },
  {
    ...usual,
    what: 'a trigger that compares whole rows',
    before: `${own}; create function public.note() returns trigger language plpgsql as 'begin if row(new.*) is distinct from row(old.*) then return new; end if; return new; end';
      create trigger note before update on public.person for each row execute function public.note()`,
    setup: written,
    leak: noticesOf(
      `create function own.same(text, text) returns boolean language plpgsql as $f$ begin raise notice '%', $1; return true; end $f$;
        create operator own.= (leftarg = text, rightarg = text, procedure = own.same)`,
      update,
    ),
  },
  {
    ...usual,
    what: 'a trigger of statements with a table of old rows',
    before: `${own}; create function public.note() returns trigger language plpgsql as 'begin perform lower(email) from before; return null; end';
      create trigger note after delete on public.person referencing old table as before for each statement execute function public.note()`,
    setup: 'grant delete on public.person to $analyst',
    leak: noticesOf(evil('lower'), 'delete from public.person'),
  },
  {
    ...usual,
    what: 'the condition of a trigger',
    before: `${own}; ${valid}; create function public.note() returns trigger language plpgsql as 'begin return new; end';
      create trigger note before update on public.person for each row when (public.valid(old.email)) execute function public.note()`,
    setup: written,
  },
  {
    ...usual,
    what: 'a rule',
    before: `${own}; ${lowered}; create table public.log (t text); create rule note as on update to public.person do also insert into public.log values (public.norm(old.email))`,
    setup: written,
    leak: noticesOf(evil('lower'), update),
  },
  {
    ...usual,
    what: 'a rule that hands over the whole row',
    before: `${own}; create function public.fits(p public.person) returns text language plpgsql as 'begin return lower(p.email); end';
      create table public.log (t text); create rule note as on update to public.person do also insert into public.log values (public.fits(old))`,
    setup: written,
  },
  {
    ...usual,
    what: 'a SECURITY DEFINER function of a role that sees no raw value itself',
    roles: { helper: 'NOLOGIN' },
    before: `${own}; grant create, usage on schema public to $helper; set role $helper; create function public.checked(t text) returns boolean language plpgsql security definer as 'begin return lower(t) <> ''''; end'; reset role;
      grant usage on schema own to public; alter table public.person add check (public.checked(email))`,
    setup: written,
  },
  {
    ...usual,
    what: 'statistics and indexes that the owner of the database analyzes',
    versions: { from: 140000, below: 170000 },
    before: `${own}; ${lowered}; create statistics public.s on (public.norm(email)), note from public.person; insert into public.person select i, 'x' || i, 'x' from generate_series(2, 50) i`,
    setup: 'alter database "@database" owner to $analyst',
    leak: noticesOf(evil('lower'), 'analyze public.person'),
  },
  {
    ...usual,
    clause: 'ENF-499',
    what: 'a body in standard SQL that casts to a domain whose check calls a function in text',
    versions: { from: 140000 },
    before: `${own}; ${valid}; create domain public.mailaddr as text check (public.valid(value)); create domain public.narrow as public.mailaddr;
      create function public.fits(t text) returns boolean language sql immutable begin atomic; select (t::public.narrow) is not null; end; alter table public.person add check (public.fits(email))`,
    setup: written,
  },
  {
    ...usual,
    clause: 'ENF-499',
    what: 'such a body that writes a table with a column of the domain',
    versions: { from: 140000 },
    before: `${own}; ${valid}; create domain public.mailaddr as text check (public.valid(value)); create table public.log (mail public.mailaddr); grant insert on public.log to public;
      create function public.noted(t text) returns boolean language sql begin atomic; insert into public.log values (t); select true; end;
      create policy p on public.person for update using (public.noted(email)); create policy r on public.person for select using (true); alter table public.person enable row level security`,
    setup: written,
  },
  {
    ...usual,
    clause: 'ENF-500',
    what: 'a row policy of another table that reads the masked one, by a view',
    roles: { keeper: 'NOLOGIN' },
    before: `${own}; ${staff}; alter table public.person owner to $keeper; create table public.doc (id int); insert into public.doc values (1);
      create policy p on public.doc using (${reads}); alter table public.doc enable row level security; alter table public.doc force row level security; alter table public.doc owner to $keeper;
      create view public.docs as select id from public.doc; alter view public.docs owner to $keeper`,
    setup: 'grant select on public.docs to $analyst',
    leak: noticesOf(evil('lower'), 'select id from public.docs'),
  },
  {
    ...usual,
    clause: 'ENF-500',
    what: 'a row policy of another masked table, by its twin',
    before: `${own}; ${staff}; create table public.split (id int, email text); insert into public.split values (1, 'x'); grant usage on schema public to public;
      create policy p on public.split using (${reads.replace('doc.id', 'split.id')}); alter table public.split enable row level security; grant select on public.split to $analyst`,
    leak: noticesOf(evil('lower'), 'select id from masked_public.split'),
  },
  {
    ...usual,
    clause: 'ENF-500',
    what: 'such a policy below the policy of a third table',
    roles: { keeper: 'NOLOGIN' },
    before: `${own}; ${staff}; alter table public.person owner to $keeper; create table public.doc (id int); insert into public.doc values (1);
      create policy p on public.doc using (${reads}); create table public.page (id int); insert into public.page values (1);
      create policy q on public.page using (exists (select from public.doc d where d.id = page.id));
      alter table public.doc enable row level security; alter table public.doc force row level security; alter table public.doc owner to $keeper;
      alter table public.page enable row level security; alter table public.page force row level security; alter table public.page owner to $keeper;
      create view public.pages as select id from public.page; alter view public.pages owner to $keeper`,
    setup: 'grant select on public.pages to $analyst',
    leak: noticesOf(evil('lower'), 'select id from public.pages'),
  },
  {
    ...usual,
    clause: 'ENF-500',
    what: 'a row policy of another table that hands over the whole row',
    roles: { keeper: 'NOLOGIN' },
    before: `${own}; create function public.fits(p public.person) returns boolean language plpgsql as 'begin return lower(p.email) is not null; end'; alter table public.person owner to $keeper;
      create table public.doc (id int); insert into public.doc values (1); create policy p on public.doc using (exists (select from public.person p where public.fits(p)));
      alter table public.doc enable row level security; alter table public.doc force row level security; alter table public.doc owner to $keeper;
      create view public.docs as select id from public.doc; alter view public.docs owner to $keeper`,
    setup: 'grant select on public.docs to $analyst',
    leak: noticesOf(evil('lower'), 'select id from public.docs'),
  },
  {
    ...usual,
    clause: 'ENF-500',
    what: 'a rule of another table that reads the masked one, for a role that inserts',
    before: `${own}; ${staff}; create table public.doc (id int); create table public.log (is_staff boolean);
      create rule note as on insert to public.doc do also insert into public.log select public.staff(email) from public.person`,
    setup: 'grant insert on public.doc to $analyst',
    leak: noticesOf(evil('lower'), 'insert into public.doc values (1)'),
  },
]
