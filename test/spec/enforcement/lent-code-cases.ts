import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { both, etl, keepBy } from './code-that-keeps.ts'
import { canary, type ExposureCase } from './exposure-cases.ts'

/** A policy of the analyst's that hands a raw value to a function of its own. */
const policyOn = (table: string, when: string) =>
  `create function own.show(text) returns boolean language plpgsql as $$ begin raise exception '%', $1; end $$;
  alter table ${table} enable row level security; create policy shown on ${table} ${when} (own.show((select email from public.person limit 1)))`

/** A table of the owner whose row policy reads a table of the analyst's. */
const between = `${both}; set role $analyst; create table own.assignment (id int); insert into own.assignment values (1); reset role;
  create table public.orders (id int); insert into public.orders values (1); grant select on public.orders to $etl;
  create policy assigned on public.orders using (id in (select id from own.assignment)); alter table public.orders enable row level security`

const viewOfOwn = `${both}; set role $analyst; create view own.w as select 1 as a; reset role; grant select on own.w to $etl`
const keepInView = 'create or replace view own.w as select own.keep() as a'

/** The row or key in the error of a refresh, after the session doubled rows below it. */
const refreshAfter =
  (kind: string, how: string) => async (_session: Database, _owner: Database, url: string) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return await client
      .query(
        `begin; insert into public.kind values (1, '${kind}'); refresh materialized view ${how} public.mv; rollback`,
      )
      .then(
        () => 'nothing',
        (error: pg.DatabaseError) => `${error.message} ${error.detail}`,
      )
      .finally(() => client.end())
  }

const kinds = `create table public.kind (person int, kind text); insert into public.kind values (1, 'x'); grant insert on public.kind to $analyst;
  create materialized view public.mv as`
const kindsOf = `${kinds} select p.id, p.email, k.kind from public.person p join public.kind k on k.person = p.id`

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
  {
    ...etl,
    code: 'DefinerSearchPath',
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
    code: 'DefinerSearchPath',
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
    code: 'DefinerSearchPath',
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
    code: 'DefinerSearchPath',
    clause: 'ENF-415',
    what: 'a search path that leads to temporary tables first',
    severity: 'medium',
    before: `${both}; set role $etl; create table desk.line (a int); create function desk.count() returns int language plpgsql security definer as
      'begin return (select a from line limit 1); end' set search_path = desk; reset role`,
    leak: keepBy(
      'create or replace temp view line as select own.keep() as a',
      'select desk.count()',
      'session',
      'drop view pg_temp.line',
    ),
  },
  {
    ...etl,
    code: 'DefinerSearchPath',
    clause: 'ENF-415',
    what: 'an empty search path, where types of the caller come first',
    severity: 'medium',
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
    code: 'DefinerSearchPath',
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
  ...[
    {
      what: 'a definer function that reads a view of a masked role',
      make: 'create view own.w as select 1 as a',
      body: 'select a from own.w limit 1',
      attack: keepInView,
    },
    {
      what: 'one that reads a table of a masked role',
      make: 'create table own.w (a int); insert into own.w values (1)',
      body: 'select a from own.w limit 1',
      attack:
        'alter table own.w enable row level security; drop policy if exists p on own.w; create policy p on own.w using (own.keep() = 1)',
    },
    {
      what: 'one that calls a function of a masked role',
      make: "create function own.w() returns int language sql as 'select 1'",
      body: 'select own.w()',
      attack: 'create or replace function own.w() returns int language sql as $f$ select own.keep() $f$',
    },
  ].flatMap(({ what, make, body, attack }): ExposureCase[] =>
    [`as '${body}' set search_path = pg_catalog, pg_temp`, `begin atomic ${body}; end`].map((text, at) => ({
      ...etl,
      code: 'DefinerCode',
      clause: 'ENF-416',
      what: at === 0 ? what : `${what}, bound`,
      severity: 'high',
      versions: { from: 140000 },
      before: `${both}; set role $analyst; ${make}; reset role; set role $etl;
        create function desk.count() returns int language sql security definer ${text}; reset role`,
      leak: keepBy(attack, 'select desk.count()'),
    })),
  ),
  {
    ...etl,
    code: 'DefinerCode',
    clause: 'ENF-416',
    what: 'one that writes a table of a masked role by its bare name',
    severity: 'high',
    before: `${both}; grant create on schema desk to $analyst; set role $analyst; create table desk.box (a int); reset role; revoke create on schema desk from $analyst;
      set role $etl; create function desk.put() returns void language plpgsql security definer as 'begin insert into box values (1); end' set search_path = desk, pg_temp; reset role`,
    leak: keepBy(
      `create or replace function own.fire() returns trigger language plpgsql as $f$ begin perform own.keep(); return null; end $f$;
        create or replace trigger fire after insert on desk.box execute function own.fire()`,
      'select desk.put()',
    ),
    versions: { from: 140000 },
  },
  {
    code: 'FailingRow',
    clause: 'ENF-417',
    what: 'a concurrent refresh by a role that may maintain the materialized view',
    severity: 'high',
    versions: { from: 170000 },
    before: `${kindsOf}; create unique index on public.mv (id, kind)`,
    setup: 'grant maintain on public.mv to $analyst',
    leak: refreshAfter('x', 'concurrently'),
  },
  {
    code: 'FailingRow',
    clause: 'ENF-417',
    what: 'a refresh by a member of pg_maintain, with a unique index on the masked column',
    severity: 'high',
    versions: { from: 170000 },
    before: `${kindsOf}; create unique index on public.mv (email)`,
    setup: 'grant pg_maintain to $analyst',
    leak: refreshAfter('x', ''),
  },
  ...[
    {
      what: 'a cast in the query of a materialized view that a masked role may refresh',
      before: `${kinds} select p.id, p.email, k.kind, case k.kind when 'n' then p.email::int end as number
        from public.person p join public.kind k on k.person = p.id`,
    },
    {
      what: 'a cast in the query of one that shows no masked column',
      before: `${kinds} select k.kind from public.kind k join public.person p on p.id = k.person
        where k.kind <> 'n' or p.email::int > 0`,
    },
    {
      what: 'a cast in an index of a materialized view that a masked role may refresh',
      before: `${kindsOf}; create index on public.mv ((case kind when 'n' then email::int end))`,
    },
  ].map(
    (one): ExposureCase => ({
      code: 'FailingRow',
      clause: 'ENF-417',
      ...one,
      severity: 'medium',
      versions: { from: 170000 },
      setup: 'grant maintain on public.mv to $analyst',
      leak: refreshAfter('n', ''),
    }),
  ),
  ...[
    { what: 'SELECT', setup: 'select', leak: 'select last_value from public.split_email_seq' },
    { what: 'USAGE', setup: 'usage', leak: 'select last_value from pg_sequences' },
    { what: 'UPDATE', setup: 'update', leak: "select nextval('public.split_email_seq')", shows: /4712/ },
  ].map(
    ({ what, setup, leak, shows = /4711/ }): ExposureCase => ({
      code: 'SequenceValues',
      clause: 'ENF-418',
      what: `${what} on the sequence of a masked column`,
      severity: 'low',
      before: `create table public.split (id int, email bigint generated by default as identity);
        select setval('public.split_email_seq', 4710); insert into public.split values (1)`,
      setup: `grant ${setup} on public.split_email_seq to $analyst`,
      leak,
      shows,
    }),
  ),
  {
    code: 'SequenceValues',
    clause: 'ENF-418',
    what: 'a sequence in a default of a masked column',
    severity: 'low',
    before: `create sequence public.numbers; create table public.split (id int, email bigint default nextval('public.numbers'));
      select setval('public.numbers', 4710); insert into public.split values (1)`,
    setup: 'grant select on public.numbers to $analyst',
    leak: 'select last_value from public.numbers',
    shows: /4711/,
  },
  ...[
    {
      what: 'a masked column that was added with a default',
      before: `create table public.split (id int); insert into public.split values (1);
        alter table public.split add email text default '${canary}'; alter table public.split alter email drop default`,
    },
    {
      what: 'such a column of partitions and children',
      before: `create table public.split (id int) partition by range (id); create table public.low partition of public.split for values from (0) to (9);
        insert into public.split values (1); alter table public.split add email text default '${canary}'; alter table public.split alter email drop default`,
    },
  ].map(
    (one): ExposureCase => ({
      code: 'MissingValue',
      clause: 'ENF-469',
      ...one,
      severity: 'low',
      leak: "select attmissingval::text from pg_attribute where attname = 'email' and attmissingval is not null",
    }),
  ),
  {
    code: 'ParameterGrant',
    clause: 'ENF-419',
    what: 'SET on a list of libraries that a session loads',
    severity: 'high',
    versions: { from: 150000 },
    setup: 'grant set on parameter session_preload_libraries to $analyst',
    leak: async (_session, _owner, url) => {
      const client = new pg.Client({
        connectionString: url,
        options: '-c session_preload_libraries=chosen_by_me',
      })
      await client.connect()
      await client.end()
      return 'nothing'
    },
    shows: /could not access file "chosen_by_me"/,
  },
  {
    code: 'ParameterGrant',
    clause: 'ENF-419',
    what: 'ALTER SYSTEM on the schemas of names in all sessions',
    severity: 'high',
    versions: { from: 150000 },
    setup: 'grant alter system on parameter search_path to $analyst',
  },
  ...[
    'set on parameter plperl.on_plperlu_init',
    'set on parameter pltclu.start_proc',
    'alter system on parameter krb_server_keyfile',
    'alter system on parameter log_directory',
  ].map(
    (what): ExposureCase => ({
      code: 'ParameterGrant',
      clause: 'ENF-419',
      what,
      severity: 'high',
      versions: { from: 150000 },
      setup: `grant ${what} to $analyst`,
    }),
  ),
  {
    code: 'ParameterGrant',
    clause: 'ENF-456',
    what: 'SET on the setting by which a session passes triggers',
    severity: 'medium',
    versions: { from: 150000 },
    setup: 'grant set on parameter session_replication_role to $analyst',
    leak: `set session_replication_role = replica; select current_setting('session_replication_role') as now`,
    shows: /"replica"/,
  },
  {
    code: 'ParameterGrant',
    clause: 'ENF-456',
    what: 'ALTER SYSTEM on event triggers',
    severity: 'medium',
    versions: { from: 170000 },
    setup: 'grant alter system on parameter event_triggers to $analyst',
  },
  {
    code: 'ParameterGrant',
    clause: 'ENF-456',
    what: 'ALTER SYSTEM on the primary of a standby',
    severity: 'high',
    versions: { from: 150000 },
    setup: 'grant alter system on parameter primary_conninfo to $analyst',
  },
]
