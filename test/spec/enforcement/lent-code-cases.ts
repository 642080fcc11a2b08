import type { Database } from '../../../src/db/database.ts'
import type { ExposureCase } from './exposure-cases.ts'

const etl = { roles: { etl: 'LOGIN' }, exempt: ['etl'] } as const

/** An exempt role with a schema, and a schema of the analyst's in which the exempt role reads and writes. */
const both = `grant select on public.person to $etl; create schema own authorization $analyst; create schema desk authorization $etl;
  grant usage on schema own to $etl; grant usage on schema desk to $analyst; alter default privileges for role $analyst grant all on tables to $etl`

/** A policy of the analyst's that hands a raw value to a function of its own. */
const policyOn = (table: string, when: string) =>
  `create function own.show(text) returns boolean language plpgsql as $$ begin raise exception '%', $1; end $$;
  alter table ${table} enable row level security; create policy shown on ${table} ${when} (own.show((select email from public.person limit 1)))`

/** A table of the owner whose row policy reads a table of the analyst's. */
const between = `${both}; set role $analyst; create table own.assignment (id int); insert into own.assignment values (1); reset role;
  create table public.orders (id int); insert into public.orders values (1); grant select on public.orders to $etl;
  create policy assigned on public.orders using (id in (select id from own.assignment)); alter table public.orders enable row level security`

const keep = `create table if not exists own.kept (seen text); grant insert on own.kept to public;
  create or replace function own.keep() returns int language plpgsql as $f$ begin
    insert into own.kept select email from public.person; return 1; end $f$; grant usage on schema own to public`

/** Has code of the session run with the rights of another role; returns what the code kept. */
const keepBy =
  (make: string, run: string, by: 'session' | 'owner' = 'session', clean = '') =>
  async (session: Database, owner: Database) => {
    await session.sql.unsafe(`drop table if exists own.kept; ${keep}; ${make}`)
    await (by === 'owner' ? owner : session).sql.unsafe(run)
    const seen = JSON.stringify(await session.sql.unsafe('select seen from own.kept'))
    if (clean !== '') await session.sql.unsafe(clean)
    return seen
  }

const viewOfOwn = `${both}; set role $analyst; create view own.w as select 1 as a; reset role; grant select on own.w to $etl`
const keepInView = 'create or replace view own.w as select own.keep() as a'

/** Ways by which relations and functions of a role that sees raw values run code of a masked role. */
export const lentCodeCases: readonly ExposureCase[] = [
  {
    ...etl,
    code: 'PolicyCode',
    clause: 'ENF-413',
    what: 'a view over a table whose row policy reads a table of a masked role',
    severity: 'medium',
    before: `${between}; set role $etl; create view desk.report as select * from public.orders; reset role; grant select on desk.report to $analyst`,
    leak: `${policyOn('own.assignment', 'using')}; select * from desk.report`,
  },
  {
    ...etl,
    code: 'PolicyCode',
    clause: 'ENF-413',
    what: 'such a table that is written through the view alone',
    severity: 'medium',
    before: `${both}; set role $analyst; create table own.assignment (id int); insert into own.assignment values (1); reset role;
      create table public.orders (id int); grant insert on public.orders to $etl;
      create policy assigned on public.orders for insert with check (id in (select id from own.assignment)); alter table public.orders enable row level security;
      set role $etl; create view desk.report as select * from public.orders; reset role; grant insert on desk.report to $analyst`,
    leak: `${policyOn('own.assignment', 'using')}; insert into desk.report values (1)`,
  },
  {
    ...etl,
    code: 'PolicyCode',
    clause: 'ENF-413',
    what: 'a rule of a table that writes a table of a masked role',
    severity: 'medium',
    before: `${both}; set role $analyst; create table own.box (a int); reset role; set role $etl; create table desk.inbox (a int);
      create rule copy as on insert to desk.inbox do also insert into own.box values (new.a); reset role; grant insert on desk.inbox to $analyst`,
    leak: `${policyOn('own.box', 'for insert with check')}; insert into desk.inbox values (1)`,
  },
  {
    ...etl,
    code: 'PolicyCode',
    clause: 'ENF-413',
    what: 'a rule of a view that reads as the invoker',
    severity: 'high',
    versions: { from: 150000 },
    before: `${both}; set role $analyst; create table own.box (a int); create policy each on own.box using (false); alter table own.box enable row level security; reset role;
      set role $etl; create table desk.line (a int); create view desk.lines with (security_invoker) as select * from desk.line;
      create rule copy as on insert to desk.lines do instead insert into own.box values (new.a); reset role; grant insert on desk.lines to $analyst`,
    leak: `${policyOn('own.box', 'for insert with check')}; insert into desk.lines values (1)`,
  },
  {
    ...etl,
    code: 'ViewCode',
    clause: 'ENF-414',
    what: 'a materialized view over a view of a masked role that may refresh it',
    severity: 'high',
    versions: { from: 170000 },
    before: `${viewOfOwn}; set role $etl; create materialized view desk.mv as select * from own.w; grant maintain on desk.mv to $analyst; reset role`,
    leak: keepBy(keepInView, 'refresh materialized view desk.mv'),
  },
  {
    ...etl,
    code: 'ViewCode',
    clause: 'ENF-414',
    what: 'such a materialized view for a member of pg_maintain, with another view between',
    severity: 'high',
    versions: { from: 170000 },
    before: `${viewOfOwn}; set role $etl; create view desk.v as select * from own.w; create materialized view desk.mv as select * from desk.v; reset role;
      grant pg_maintain to $analyst`,
    leak: keepBy(keepInView, 'refresh materialized view desk.mv'),
  },
  {
    code: 'ViewCode',
    clause: 'ENF-414',
    what: 'a materialized view over a view of a masked role that its owner refreshes',
    before: `create schema own authorization $analyst; set role $analyst; create view own.w as select 1 as a; reset role;
      create materialized view public.mv as select * from own.w`,
    leak: keepBy(keepInView, 'refresh materialized view public.mv', 'owner'),
  },
  {
    code: 'ViewCode',
    clause: 'ENF-414',
    what: 'a view of the owner over a view of a masked role',
    severity: 'medium',
    before: `create schema own authorization $analyst; set role $analyst; create view own.w as select 1 as a; reset role;
      create view public.pane as select * from own.w`,
    leak: keepBy(keepInView, 'select * from public.pane', 'owner'),
  },
]
