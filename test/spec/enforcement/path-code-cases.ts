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

const own =
  'create schema own authorization $analyst; grant update (note), delete on public.person to $analyst'
const lowered = `create function public.norm(t text) returns text language sql immutable as 'select lower(t)'`
const valid = `create function public.valid(t text) returns boolean language plpgsql immutable as 'begin return lower(t) <> ''''; end'`
const update = 'update public.person set note = note'

const usual = {
  code: 'RoutineSearchPath',
  clause: 'ENF-415',
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
    what: 'a policy whose function sets a path that temporary types come before',
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
    what: 'a check, for a role that updates another column',
    before: `${own}; ${valid}; alter table public.person add check (public.valid(email))`,
  },
  {
    ...usual,
    what: 'a check by an operator',
    before: `${own}; create function public.same(text, text) returns boolean language plpgsql as 'begin return lower($1) <> $2; end';
      create operator public.<~> (leftarg = text, rightarg = text, procedure = public.same); alter table public.person add check (email operator(public.<~>) 'x')`,
  },
  {
    ...usual,
    what: 'a check by a body that is bound and calls a function in text',
    versions: { from: 140000 },
    before: `${own}; ${valid}; create function public.outer(t text) returns boolean language sql immutable return public.valid(t) and t <> '';
      alter table public.person add check (public.outer(email))`,
  },
  {
    ...usual,
    what: 'a check of a domain that a check casts to',
    before: `${own}; ${valid}; create domain public.mailaddr as text check (public.valid(value)); alter table public.person add check ((email::public.mailaddr) is not null)`,
  },
  {
    ...usual,
    what: 'a check of the whole row',
    before: `${own}; create function public.fits(p public.person) returns boolean language plpgsql as 'begin return lower(p.email) <> ''''; end';
      alter table public.person add check (public.fits(person))`,
  },
  {
    ...usual,
    what: 'a check of a table above, for a role that may write the table above',
    before: `${own}; ${valid}; create table public.split (id int, email text, note text); grant update (note) on public.split to $analyst; create table public.part () inherits (public.split);
      insert into public.part values (1, '${canary}', 'x'); alter table public.part add check (public.valid(email))`,
    leak: noticesOf(evil('lower'), "update public.split set note = 'y'"),
  },
  {
    ...usual,
    what: 'an expression of an index',
    before: `${own}; ${lowered}; create index on public.person (note); create index on public.person (public.norm(email))`,
    leak: noticesOf(evil('lower'), "update public.person set note = note || 'x'"),
  },
  {
    ...usual,
    what: 'a generated column, under a trigger',
    before: `${own}; ${lowered}; alter table public.person add norm text generated always as (public.norm(email)) stored;
      create function public.keep() returns trigger language plpgsql as 'begin return new; end'; create trigger keep before update on public.person for each row execute function public.keep()`,
  },
  {
    ...usual,
    what: 'a partition key',
    before: `${own}; ${lowered}; create table public.split (id int, email text, note text) partition by list (public.norm(email));
      grant update (note) on public.split to $analyst;
      create table public.split_z partition of public.split for values in ('${canary}'); insert into public.split values (1, '${canary}', 'x')`,
    leak: noticesOf(evil('lower'), "update public.split set note = 'y'"),
  },
  {
    ...usual,
    what: 'a trigger that writes a table by its bare name',
    before: `${own}; create table public.history (id int, email text); grant insert on public.history to public;
      create function public.note() returns trigger language plpgsql as 'begin insert into history values (old.id, old.email); return new; end';
      create trigger note after update on public.person for each row execute function public.note()`,
    leak: noticesOf(
      'create temp table history (id int, email text)',
      `set local search_path = public; ${update}; select * from pg_temp.history`,
    ),
  },
  {
    ...usual,
    what: 'a trigger of statements with a table of old rows',
    before: `${own}; create function public.note() returns trigger language plpgsql as 'begin perform lower(email) from before; return null; end';
      create trigger note after delete on public.person referencing old table as before for each statement execute function public.note()`,
    leak: noticesOf(evil('lower'), 'delete from public.person'),
  },
  {
    ...usual,
    what: 'the condition of a trigger',
    before: `${own}; ${valid}; create function public.note() returns trigger language plpgsql as 'begin return new; end';
      create trigger note before update on public.person for each row when (public.valid(old.email)) execute function public.note()`,
  },
  {
    ...usual,
    what: 'a rule',
    before: `${own}; ${lowered}; create table public.log (t text); create rule note as on update to public.person do also insert into public.log values (public.norm(old.email))`,
    leak: noticesOf(evil('lower'), update),
  },
]
