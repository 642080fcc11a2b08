import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'

/** A way around a mask, as somebody would leave it open. `$analyst` and the like are roles of the test's own. */
export interface ExposureCase {
  readonly code: string
  /** The clause that it is about, where its code does not say. */
  readonly clause?: string
  readonly what: string
  /** Other roles of the case, with their options. */
  readonly roles?: Readonly<Record<string, string>>
  /** Before masks are put on. */
  readonly before?: string
  /** After. */
  readonly setup?: string
  /** Exempt roles of the policy. */
  readonly exempt?: readonly string[]
  /** The role that goes the way; `analyst` unless said. */
  readonly as?: string
  /** Statements that bring the raw value out, to be found in what the last of them returns or in an error. */
  readonly leak?: string | ((session: Database, owner: Database, url: string) => Promise<string>)
  /** Only on these versions. */
  readonly versions?: { readonly from?: number; readonly below?: number }
  readonly severity?: string
  /** The value that the role sees instead of the canary. */
  readonly shows?: RegExp
  /** No single statement of SQL closes it. */
  readonly remediless?: true
}

export const canary = 'zelda.canary@example.com'

const readIt = 'select email from public.person'

/** In one transaction: a duplicate is refused, or not. */
const guess = (insert: string) => async (session: Database) =>
  await session.sql.unsafe(insert).then(
    () => 'accepted',
    (error: { code?: string }) => `refused ${error.code}`,
  )

/** The error of the server in its own words, which `Database` keeps values out of. Undone afterwards. */
const provoke = (statements: string) => async (_session: Database, _owner: Database, url: string) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`begin; ${statements}; rollback`)
    return 'nothing'
  } finally {
    await client.end()
  }
}

/** The whole cluster as the replication protocol hands it out, searched for the canary. */
async function takeBackup(url: string): Promise<string> {
  const { hostname, port, username, password } = new URL(url)
  const client = new pg.Client({
    host: hostname,
    port: Number(port),
    user: username,
    password,
    replication: 'true',
  } as pg.ClientConfig)
  await client.connect()
  let seen = 'nothing'
  let tail = ''
  const connection = Reflect.get(client, 'connection') as NodeJS.EventEmitter
  connection.on('copyData', ({ chunk }: { chunk: Buffer }) => {
    const text = tail + chunk.toString('latin1')
    if (text.includes(canary)) seen = canary
    tail = text.slice(-canary.length)
  })
  await client.query(`BASE_BACKUP (CHECKPOINT 'fast', MANIFEST 'no')`).finally(() => client.end())
  return seen
}

/** An expression that fails with the masked value as soon as the note is another one. */
const orFail = (value: string, type: string) =>
  `case when note = 'hello' then ${value} else email::${type} end`

export const exposureCases: readonly ExposureCase[] = [
  { code: 'Superuser', what: 'a superuser', roles: { boss: 'LOGIN SUPERUSER' }, as: 'boss', leak: readIt },
  {
    code: 'Superuser',
    what: 'a member of a superuser',
    roles: { boss: 'NOLOGIN SUPERUSER', clerk: 'LOGIN' },
    setup: 'grant $boss to $clerk',
    as: 'clerk',
    leak: `set role $boss; ${readIt}`,
  },
  {
    code: 'Replication',
    what: 'a role with REPLICATION',
    roles: { copier: 'LOGIN REPLICATION' },
    as: 'copier',
    leak: (_session, _owner, url) => takeBackup(url),
  },
  {
    code: 'CreateRole',
    what: 'a role with CREATEROLE before 16',
    versions: { below: 160000 },
    roles: { clerk: 'LOGIN CREATEROLE' },
    as: 'clerk',
    leak: `grant pg_read_all_data to $clerk; ${readIt}`,
  },
  {
    code: 'ReadsAllData',
    what: 'a member of pg_read_all_data',
    setup: 'grant pg_read_all_data to $analyst',
    leak: readIt,
  },
  {
    code: 'ReadsAllData',
    what: 'a member of a member of pg_read_all_data',
    roles: { group: 'NOLOGIN' },
    setup: 'grant pg_read_all_data to $group; grant $group to $analyst',
    leak: readIt,
  },
  {
    code: 'ServerFiles',
    what: 'a member of pg_read_server_files',
    setup: `do $f$ begin execute format('copy public.person to %L', current_setting('data_directory') || '/dump.csv'); end $f$;
      grant pg_read_server_files, pg_read_all_settings to $analyst`,
    leak: `do $$ begin create temp table dump (id int, email text, note text);
      execute format('copy dump from %L', current_setting('data_directory') || '/dump.csv'); end $$; select email from dump`,
  },
  {
    code: 'ServerFiles',
    what: 'a member of pg_execute_server_program',
    setup: 'checkpoint; grant pg_execute_server_program to $analyst',
    leak: `do $$ begin execute format('create temp table page (line text); copy page from program %L',
      'strings ' || pg_relation_filepath('public.person') || ' || grep -ao zelda.canary@example.com ' || pg_relation_filepath('public.person')); end $$;
      select line from page`,
  },
  {
    code: 'EndsSessions',
    what: 'a member of pg_signal_backend',
    setup: 'grant pg_signal_backend to $analyst',
    leak: "select pg_has_role(current_user, 'pg_signal_backend', 'USAGE') as may",
    shows: /true/,
  },
  {
    code: 'WritesAllData',
    what: 'a member of pg_write_all_data',
    setup: 'grant pg_write_all_data to $analyst',
    leak: "select has_table_privilege('public.person', 'UPDATE') as may",
    shows: /true/,
  },
  {
    code: 'LocksTables',
    what: 'a member of pg_maintain',
    versions: { from: 170000 },
    setup: 'grant pg_maintain to $analyst',
    leak: `lock table public.person in access exclusive mode; select 'locked' as it`,
    shows: /locked/,
  },
  {
    code: 'QueryTexts',
    what: 'a member of pg_read_all_stats',
    setup: 'grant pg_read_all_stats to $analyst',
    leak: async (session, owner) => {
      await owner.sql.unsafe(`select 1 from public.person where email = '${canary}'`)
      return JSON.stringify(
        await session.sql.unsafe(`select query from pg_stat_activity where datname = current_database()`),
      )
    },
  },
  {
    code: 'TableOwner',
    what: 'an owner who is not exempt',
    roles: { builder: 'LOGIN' },
    before: 'alter table public.person owner to $builder',
    as: 'builder',
    leak: readIt,
  },
  {
    code: 'TableOwner',
    what: 'a member of the owner',
    roles: { owners: 'NOLOGIN', builder: 'LOGIN' },
    before: 'alter table public.person owner to $owners; grant $owners to $builder',
    as: 'builder',
    leak: readIt,
  },
  {
    code: 'TableOwner',
    what: 'the owner of a materialized view',
    roles: { builder: 'LOGIN' },
    before:
      'create materialized view public.people as select * from public.person; alter materialized view public.people owner to $builder',
    as: 'builder',
    leak: 'select email from public.people',
  },
  {
    code: 'TwinOwnerMember',
    what: 'a member of the owner of the twins',
    setup: 'grant $twins to $analyst',
    leak: readIt,
  },
  {
    code: 'ExemptMember',
    what: 'a member of an exempt role',
    roles: { auditors: 'NOLOGIN', auditor: 'LOGIN' },
    before: 'grant select on public.person to $auditors; grant $auditors to $auditor',
    exempt: ['auditors'],
    as: 'auditor',
    leak: readIt,
  },
  {
    code: 'EverybodyExempt',
    what: 'a policy that exempts public',
    exempt: ['public'],
    leak: readIt,
    remediless: true,
  },
  {
    code: 'BypassRowSecurity',
    what: 'a role with BYPASSRLS on a table with row security',
    roles: { bypasser: 'LOGIN BYPASSRLS' },
    before:
      'alter table public.person enable row level security; create policy own on public.person using (false); grant select on public.person to $bypasser',
    as: 'bypasser',
    leak: 'select note from public.person',
    shows: /hello/,
  },
  {
    code: 'Readable',
    what: 'a column granted by hand since',
    setup: 'grant select (email) on public.person to $analyst',
    leak: readIt,
  },
  {
    code: 'TriggerGrant',
    what: 'TRIGGER on the table',
    setup:
      'grant trigger, insert, update on public.person to $analyst; create schema own; grant all on schema own to $analyst',
    leak: `create function own.spy() returns trigger language plpgsql as $$ begin raise exception '%', old.email; end $$;
      create trigger spy before update on public.person for each row execute function own.spy();
      update public.person set note = 'x'`,
  },
  {
    code: 'ReferencesGrant',
    what: 'REFERENCES on the table',
    setup:
      'alter table public.person add unique (email); grant references on public.person to $analyst; create schema own; grant all on schema own to $analyst',
    leak: `create table own.probe (email text references public.person (email)); insert into own.probe values ('${canary}') returning email`,
  },
  {
    code: 'UniqueOracle',
    what: 'INSERT under a unique index',
    before: 'alter table public.person add unique (email); grant insert on public.person to $analyst',
    leak: guess(`insert into public.person (id, email) values (99, '${canary}')`),
    shows: /refused 23505/,
  },
  {
    code: 'UniqueOracle',
    what: 'INSERT under a unique index of an expression',
    before: 'create unique index on public.person (lower(email)); grant insert on public.person to $analyst',
    leak: guess(`insert into public.person (id, email) values (99, '${canary}')`),
    shows: /refused 23505/,
  },
  {
    code: 'UniqueOracle',
    what: 'INSERT of another column under a partial unique index',
    before: `create unique index on public.person (note) where email >= 'z'; grant insert on public.person to $analyst`,
    leak: guess(`insert into public.person (id, note, email) values (99, 'hello', 'zz')`),
    shows: /refused 23505/,
  },
  {
    code: 'UniqueOracle',
    what: 'INSERT under an exclusion constraint',
    before:
      'alter table public.person add exclude using btree (email with =); grant insert on public.person to $analyst',
    leak: guess(`insert into public.person (id, email) values (99, '${canary}')`),
    shows: /refused 23P01/,
  },
  {
    code: 'CheckOracle',
    what: 'UPDATE of a column that a check compares with a masked one',
    before:
      "alter table public.person add limit_text text default 'zzz', add check (email < limit_text); grant update on public.person to $analyst",
    leak: guess(`update public.person set limit_text = 'zelda.b'`),
    shows: /refused 23514/,
  },
  {
    code: 'CheckOracle',
    clause: 'ENF-224',
    what: 'UPDATE under a check that a function makes of the row as a whole',
    before: `alter table public.person add limit_text text default 'zzz';
      create function public.fits(public.person) returns boolean immutable language sql as 'select ($1).email < ($1).limit_text';
      alter table public.person add check (public.fits(person)); grant update on public.person to $analyst`,
    leak: guess(`update public.person set limit_text = 'zelda.b'`),
    shows: /refused 23514/,
  },
  {
    code: 'UniqueOracle',
    clause: 'ENF-224',
    what: 'INSERT under a unique index of the row as a whole',
    before: `create function public.key(public.person) returns text immutable language sql as 'select ($1).email';
      create unique index on public.person (public.key(person)); grant insert on public.person to $analyst`,
    leak: guess(`insert into public.person (id, email) values (99, '${canary}')`),
    shows: /refused 23505/,
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE of a column that a stored generated column uses with a masked one',
    severity: 'medium',
    before: `alter table public.person add made numeric generated always as (${orFail('0', 'numeric')}) stored;
      grant update (note) on public.person to $analyst`,
    leak: provoke(`update public.person set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE of a column that a virtual generated column uses with a masked one',
    versions: { from: 180000 },
    before: `alter table public.person add made numeric generated always as (${orFail('0', 'numeric')}) virtual not null;
      grant update on public.person to $analyst`,
    leak: provoke(`update public.person set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE under an index of an expression',
    before: `create index on public.person (id, (${orFail('0', 'numeric')})); grant update on public.person to $analyst`,
    leak: provoke(`update public.person set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE under a partial index',
    before: `create index on public.person (id) where ${orFail('true', 'boolean')}; grant update (note) on public.person to public`,
    leak: provoke(`update public.person set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE under an index of the row as a whole',
    before: `create function public.made(public.person) returns numeric immutable language sql
        as $f$ select case when ($1).note = 'hello' then 0 else ($1).email::numeric end $f$;
      create index on public.person (public.made(person)); grant update on public.person to $analyst`,
    leak: provoke(`update public.person set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE under a partition key',
    before: `create table public.split (email text, note text) partition by list ((${orFail('0', 'numeric')}));
      create table public.zero partition of public.split for values in (0);
      insert into public.split values ('${canary}', 'hello'); grant update (note) on public.split to $analyst`,
    leak: provoke(`update public.split set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    what: 'UPDATE under a row policy that compares a masked column with another one',
    before: `alter table public.person enable row level security;
      create policy below on public.person to $analyst using (note = 'hello' or email < note); grant update on public.person to $analyst`,
    leak: `update public.person set note = 'zelda.d'; select 'seen ' || count(id) from public.person`,
    shows: /seen 1/,
  },
  {
    code: 'ExpressionOracle',
    what: 'ANALYZE by a member of pg_maintain after UPDATE under extended statistics',
    versions: { from: 170000 },
    before: `create statistics public.made on (${orFail('0', 'numeric')}) from public.person; grant update on public.person to $analyst`,
    setup: 'grant pg_maintain to $analyst',
    leak: provoke(`update public.person set note = 'x'; analyze public.person`),
  },
  {
    code: 'ExpressionOracle',
    clause: 'ENF-272',
    what: 'UPDATE of the parent of a table with an index of an expression',
    before: `create table public.base (note text); alter table public.person inherit public.base;
      create index on public.person ((${orFail('0', 'numeric')})); grant update (note) on public.base to $analyst`,
    leak: provoke(`update public.base set note = 'x'`),
  },
  {
    code: 'ExpressionOracle',
    clause: 'ENF-272',
    what: 'UPDATE of a view of a view, also of the parent',
    before: `create table public.base (note text); alter table public.person inherit public.base;
      create index on public.person ((${orFail('0', 'numeric')}));
      create view public.notes as select note as text from public.base; create view public.texts as select text as it from public.notes;
      grant update on public.base, public.notes, public.texts to $analyst`,
    leak: provoke(`update public.texts set it = 'x'`),
  },
  {
    code: 'CheckOracle',
    clause: 'ENF-272',
    what: 'UPDATE of the parent of a table with a check',
    before: `create table public.base (note text); alter table public.person inherit public.base, add check (note = 'hello' or email < note);
      grant update on public.base to $analyst`,
    leak: guess(`update public.base set note = 'zelda.b'`),
    shows: /refused 23514/,
  },
  {
    code: 'CheckOracle',
    clause: 'ENF-272',
    what: 'UPDATE under a check of one column that is generated from others',
    before: `alter table public.person add below boolean generated always as (note = 'hello' or email < note) stored check (below);
      grant update (note) on public.person to $analyst`,
    leak: guess(`update public.person set note = 'zelda.b'`),
    shows: /refused 23514/,
  },
  {
    code: 'UniqueOracle',
    clause: 'ENF-272',
    what: 'INSERT into the parent of a partition that has a unique index',
    before: `create table public.split (id int, email text) partition by list (id);
      create table public.one partition of public.split (unique (email)) for values in (1);
      insert into public.split values (1, '${canary}'); grant insert on public.split to $analyst`,
    leak: guess(`insert into public.split values (1, '${canary}')`),
    shows: /refused 23505/,
  },
  {
    code: 'UniqueOracle',
    clause: 'ENF-272',
    what: 'INSERT of a column from which one under a unique index is generated',
    before: `alter table public.person add low text generated always as (lower(email)) stored unique; grant insert (id, email) on public.person to $analyst`,
    leak: guess(`insert into public.person (id, email) values (99, '${canary}')`),
    shows: /refused 23505/,
  },
  {
    code: 'RowPolicyOracle',
    clause: 'ENF-224',
    what: 'a row policy whose function gets the row as a whole',
    severity: 'high',
    before: `create function public.guessed(public.person) returns boolean stable language sql
        as $f$ select ($1).email = current_setting('app.guess', true) $f$;
      alter table public.person enable row level security; create policy guessed on public.person using (public.guessed(person))`,
    leak: `set app.guess = '${canary}'; select 'seen ' || count(*) from masked_public.person`,
    shows: /seen 1/,
  },
  {
    code: 'RowPolicyOracle',
    what: 'a row policy that compares a masked column with a setting',
    severity: 'high',
    before: `alter table public.person enable row level security;
      create policy guessed on public.person using (email = current_setting('app.guess', true))`,
    leak: `set app.guess = '${canary}'; select 'seen ' || count(*) from masked_public.person`,
    shows: /seen 1/,
  },
  {
    code: 'RowPolicyOracle',
    what: 'a row policy for one role whose function reads a setting',
    severity: 'high',
    roles: { auditor: 'LOGIN' },
    exempt: ['auditor'],
    before: `create function public.guess() returns text language sql stable as $f$ select current_setting('app.guess', true) $f$;
      alter table public.person enable row level security;
      create policy guessed on public.person to $analyst, $auditor using (email = public.guess())`,
    leak: `set app.guess = '${canary}'; select 'seen ' || count(id) from public.person`,
    shows: /seen 1/,
  },
  {
    code: 'RowPolicyOracle',
    what: 'a row policy that compares a masked column with a table that the reader writes',
    severity: 'high',
    before: `create table public.guesses (guess text); grant select, insert on public.guesses to $analyst;
      alter table public.person enable row level security;
      create policy guessed on public.person using (email in (select guess from public.guesses))`,
    leak: `insert into public.guesses values ('${canary}'); select 'seen ' || count(id) from public.person`,
    shows: /seen 1/,
  },
  {
    code: 'RoutineOwner',
    severity: 'high',
    what: 'a check that calls a function of a masked role',
    before: `create schema own authorization $analyst; grant update (id) on public.person to $analyst;
      create function own.fits(text) returns boolean language sql as 'select true'; alter function own.fits(text) owner to $analyst;
      alter table public.person add check (own.fits(email))`,
    leak: `create or replace function own.fits(value text) returns boolean language plpgsql as $f$ begin raise exception '%', value; end $f$;
      update public.person set id = 2`,
  },
  {
    code: 'RoutineOwner',
    severity: 'high',
    what: 'an index with a function of a masked role',
    before: `create schema own authorization $analyst; grant update (id) on public.person to $analyst;
      create function own.key(text) returns text immutable language sql as 'select $1'; alter function own.key(text) owner to $analyst;
      create index on public.person (own.key(email))`,
    leak: `create or replace function own.key(value text) returns text immutable language plpgsql as $f$ begin raise exception '%', value; end $f$;
      update public.person set id = 2`,
  },
  {
    code: 'RoutineOwner',
    severity: 'high',
    what: 'a trigger with a function of a masked role',
    before: `create schema own authorization $analyst; grant update (id) on public.person to $analyst;
      create function own.look() returns trigger language plpgsql as 'begin return new; end'; alter function own.look() owner to $analyst;
      create trigger look before update on public.person for each row execute function own.look()`,
    leak: `create or replace function own.look() returns trigger language plpgsql as $f$ begin raise exception '%', old.email; end $f$;
      update public.person set id = 2`,
  },
  {
    code: 'DomainOwner',
    severity: 'high',
    what: 'a masked column of a domain that a masked role owns',
    before: `create schema own authorization $analyst; create domain own.mail as text; alter table public.person alter email type own.mail;
      alter domain own.mail owner to $analyst`,
    leak: `create function own.show(value text) returns boolean language plpgsql as $f$ begin raise exception '%', value; end $f$;
      alter domain own.mail add check (own.show(value))`,
  },
  {
    code: 'ForeignKeyOracle',
    what: 'INSERT into a table that refers to a masked column',
    before:
      'alter table public.person add unique (email); create table public.letter (to_email text references public.person (email)); grant insert on public.letter to $analyst',
    leak: guess(`insert into public.letter values ('${canary}')`),
    shows: /accepted/,
  },
  {
    code: 'SecurityDefinerFunction',
    what: 'a definer function in SQL text',
    before: `create function public.email_of(int) returns text language sql security definer as 'select email from person where id = $1' set search_path = public`,
    leak: 'select public.email_of(1)',
  },
  {
    code: 'SecurityDefinerFunction',
    what: 'a definer function with a body that PostgreSQL has parsed',
    before: `create function public.email_of(i int) returns text language sql security definer return (select email from public.person where id = i)`,
    leak: 'select public.email_of(1)',
  },
  {
    code: 'SecurityDefinerFunction',
    what: 'a definer function that calls a function that reads',
    before: `create function public.inner_mail() returns text language plpgsql as $f$ begin return (select email from public."person" limit 1); end $f$;
      create function public.outer_mail() returns text language plpgsql security definer as $f$ begin return public.inner_mail(); end $f$`,
    leak: 'select public.outer_mail()',
  },
  {
    code: 'SecurityDefinerFunction',
    what: 'a definer function that makes SQL when it runs',
    severity: 'medium',
    before: `create function public.run(q text) returns text language plpgsql security definer as $f$ declare r text; begin execute q into r; return r; end $f$`,
    leak: `select public.run('select email from public.person')`,
  },
  {
    code: 'ForeignKeyCopy',
    what: 'a column that refers to a masked one',
    before: `alter table public.person add unique (email); create table public.letter (to_email text references public.person (email));
      insert into public.letter select email from public.person; grant select on public.letter to $analyst`,
    leak: 'select to_email from public.letter',
    remediless: true,
  },
  {
    code: 'PossibleCopy',
    what: 'a copy of the table',
    before:
      'create table public.person_2019 as select * from public.person; grant select on public.person_2019 to $analyst',
    leak: 'select email from public.person_2019',
    remediless: true,
  },
  {
    code: 'PossibleCopy',
    what: "a masked role's own copy, made before the rule",
    severity: 'high',
    before: `create schema own authorization $analyst; set role $analyst; create table own.kept as select * from public.person; reset role`,
    leak: 'select email from own.kept',
  },
  {
    code: 'PossibleCopy',
    what: "a masked role's own copy of some columns",
    severity: 'low',
    before: `create schema own authorization $analyst; set role $analyst; create table own.kept as select email from public.person; reset role`,
    leak: 'select email from own.kept',
  },
  {
    code: 'PossibleCopy',
    what: 'copies that belong to a group of the masked role',
    roles: { crew: 'NOLOGIN' },
    before: `grant $crew to $analyst; create schema own authorization $crew; create table own.kept as select * from public.person;
      create materialized view own.copied as select email from own.kept;
      alter table own.kept owner to $crew; alter materialized view own.copied owner to $crew`,
    leak: 'select email from own.copied',
  },
  {
    code: 'Trigger',
    what: 'a trigger that keeps what was written',
    before: `create table public.journal (entry jsonb); grant select on public.journal to $analyst; grant update on public.person to $analyst;
      create function public.keep() returns trigger language plpgsql security definer as $f$ begin insert into public.journal values (to_jsonb(old)); return new; end $f$;
      create trigger keep before update on public.person for each row execute function public.keep()`,
    leak: `update public.person set note = 'x'; select entry from public.journal`,
  },
  {
    code: 'Trigger',
    clause: 'ENF-224',
    what: 'an INSTEAD OF trigger on a view',
    severity: 'medium',
    before: `create view public.pane as select * from public.person; grant update on public.pane to $analyst;
      create function public.keep() returns trigger language plpgsql as $f$ begin raise exception '%', old.email; end $f$;
      create trigger keep instead of update on public.pane for each row execute function public.keep()`,
    leak: `update public.pane set note = 'x'`,
  },
  {
    code: 'RewriteRule',
    clause: 'ENF-224',
    what: 'a rule on a view that copies',
    before: `create table public.journal (entry text); grant select on public.journal to $analyst;
      create view public.pane as select * from public.person; grant update on public.pane to $analyst;
      create rule keep as on update to public.pane do instead insert into public.journal values (old.email)`,
    leak: `update public.pane set note = 'x'; select entry from public.journal`,
  },
  {
    code: 'RewriteRule',
    clause: 'ENF-437',
    what: 'a rule of another table that returns',
    before: `create table public.inbox (entry text); create table public.journal (entry text); grant insert, select on public.inbox to $analyst;
      create rule tell as on insert to public.inbox do instead insert into public.journal values (new.entry)
        returning (select email from public.person limit 1)`,
    leak: `insert into public.inbox values ('x') returning entry`,
  },
  {
    code: 'RewriteRule',
    clause: 'ENF-437',
    what: 'a rule of another table that reads a view',
    before: `create view public.pane as select email from public.person; create table public.inbox (entry text);
      create table public.journal (entry text); grant insert (entry) on public.inbox to $analyst; grant select on public.journal to $analyst;
      create rule tell as on insert to public.inbox do also insert into public.journal select email from public.pane`,
    leak: `insert into public.inbox values ('x'); select entry from public.journal`,
  },
  {
    code: 'RewriteRule',
    what: 'a rule that copies',
    before: `create table public.journal (entry text); grant select on public.journal to $analyst; grant update on public.person to $analyst;
      create rule keep as on update to public.person do also insert into public.journal values (old.email)`,
    leak: `update public.person set note = 'x'; select entry from public.journal`,
  },
  {
    code: 'RowPolicyByRole',
    what: 'a policy that lets one role see rows',
    severity: 'low',
    before: `alter table public.person enable row level security; create policy for_analysts on public.person for select to $analyst using (true)`,
    leak: async (session) =>
      `${(await session.sql.unsafe('select id from masked_public.person')).length} rows`,
    shows: /^0 rows$/,
  },
  {
    code: 'DefaultPrivileges',
    what: 'default privileges that open new tables',
    setup: 'alter default privileges in schema public grant select on tables to $analyst',
    leak: async (session, owner) => {
      await owner.sql.unsafe(
        'drop table if exists public.again; create table public.again as select * from public.person',
      )
      return JSON.stringify(await session.sql.unsafe('select email from public.again'))
    },
  },
  {
    code: 'ServerFunction',
    what: 'a function that reads files, granted',
    setup:
      'checkpoint; grant execute on function pg_read_binary_file(text) to $analyst; grant execute on function pg_catalog.pg_read_binary_file(text) to $analyst',
    leak: `select encode(pg_read_binary_file(pg_relation_filepath('public.person')), 'escape') as page`,
  },
  {
    code: 'PartitionBounds',
    what: 'a table that is partitioned by a masked column',
    before: `create table public.split (email text) partition by list (email); create table public.split_1 partition of public.split for values in ('${canary}');
      grant select on public.split to $analyst`,
    leak: `select pg_get_expr(relpartbound, oid) from pg_class where relname = 'split_1'`,
    remediless: true,
  },
  {
    code: 'Publication',
    what: 'a publication of the table',
    setup: 'create publication $pub for table public.person',
  },
  {
    code: 'Publication',
    what: 'a publication of everything',
    setup: 'create publication $pub for all tables',
  },
  {
    code: 'ForeignTable',
    what: 'USAGE on the server of a masked foreign table',
    before: `create extension postgres_fdw; create table public.source as select * from public.person;
      create server loop foreign data wrapper postgres_fdw options (host '127.0.0.1', port '@port', dbname '@database');
      create user mapping for public server loop options (user '@user', password '@password');
      create foreign table public.split (email text) server loop options (table_name 'source');
      grant usage on foreign server loop to $analyst; create schema own; grant all on schema own to $analyst`,
    leak: `create foreign table own.pane (email text) server loop options (schema_name 'public', table_name 'source'); select email from own.pane`,
  },
  {
    code: 'ExtendedStatistics',
    what: 'statistics in a database whose views are of before the fix',
    before: `create statistics public.lengths on (lower(email)), (upper(email)) from public.person;
      insert into public.person select i, '${canary}', 'x' from generate_series(2, 200) i; analyze public.person;
      do $f$ begin set local allow_system_table_mods = on;
        execute 'create or replace view pg_catalog.pg_stats_ext_exprs as '
          || regexp_replace(pg_get_viewdef('pg_catalog.pg_stats_ext_exprs'::regclass), 'pg_has_role\\([^)]*\\)', 'true');
      end $f$`,
    leak: 'select most_common_vals::text from pg_catalog.pg_stats_ext_exprs',
  },
]
