import { both, etl, keepBy } from './code-that-keeps.ts'
import type { ExposureCase } from './exposure-cases.ts'

/** SECURITY DEFINER functions whose names lead to objects of a masked role. */
export const definerCases: readonly ExposureCase[] = [
  {
    ...etl,
    code: 'RoutineSearchPath',
    clause: 'ENF-415',
    what: "a definer function with the caller's search path",
    severity: 'high',
    before: `${both}; set role $etl; create function desk.count() returns int language plpgsql security definer as
      'begin return length(''abc''); end'; reset role`,
    leak: keepBy(
      'create or replace function own.length(text) returns int language sql as $f$ select own.keep() $f$',
      'set search_path = own, pg_catalog; select desk.count(); reset search_path',
    ),
  },
  {
    code: 'RoutineSearchPath',
    clause: 'ENF-415',
    what: 'one of the owner whose body is bound, and that calls such a function',
    severity: 'high',
    versions: { from: 140000 },
    before: `create schema own authorization $analyst; create function public.inner() returns int language plpgsql as 'begin return length(''abc''); end';
      create function public.count() returns int language sql security definer return public.inner()`,
    leak: keepBy(
      'create or replace function own.length(text) returns int language sql as $f$ select own.keep() $f$',
      'set search_path = own, pg_catalog; select public.count(); reset search_path',
    ),
  },
  {
    ...etl,
    code: 'RoutineSearchPath',
    clause: 'ENF-415',
    what: 'a search path with a schema in which a masked role may create',
    severity: 'high',
    before: `${both}; set role $etl; create function desk.count() returns int language plpgsql security definer as
      'begin return length(''abc''::varchar); end' set search_path = own, pg_temp; reset role`,
    leak: keepBy(
      'create or replace function own.length(varchar) returns int language sql as $f$ select own.keep() $f$',
      'select desk.count()',
    ),
  },
  {
    ...etl,
    code: 'RoutineSearchPath',
    clause: 'ENF-415',
    what: 'an empty search path, where types of the caller come first',
    severity: 'high',
    before: `${both}; set role $etl; create function desk.say() returns text language plpgsql security definer as
      'begin return (1::text); end' set search_path = ''; reset role`,
    leak: keepBy(
      'create or replace function own.fits(pg_catalog.text) returns boolean language sql as $f$ select own.keep() = 1 $f$; create domain pg_temp.text as pg_catalog.text check (own.fits(value))',
      'select desk.say()',
      'session',
      'drop domain pg_temp.text',
    ),
  },
  {
    ...etl,
    code: 'RoutineSearchPath',
    clause: 'ENF-415',
    what: 'a trigger function that the role may not call, of a table that it writes',
    severity: 'high',
    before: `${both}; set role $etl; create table desk.line (a int); create function desk.stamp() returns trigger language plpgsql security definer as
      'begin new.a := length(''abc''); return new; end'; create trigger stamp before insert on desk.line for each row execute function desk.stamp();
      revoke execute on function desk.stamp() from public; grant insert on desk.line to $analyst; reset role`,
    leak: keepBy(
      'create or replace function own.length(text) returns int language sql as $f$ select own.keep() $f$',
      'set search_path = own, pg_catalog; insert into desk.line values (1); reset search_path',
    ),
  },
]
