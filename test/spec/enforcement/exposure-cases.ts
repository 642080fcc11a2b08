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

export const exposureCases: readonly ExposureCase[] = [
  {
    code: 'EverybodyExempt',
    what: 'a policy that exempts public',
    exempt: ['public'],
    leak: readIt,
    remediless: true,
  },
  {
    code: 'RowPolicyOracle',
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
    what: 'a row policy that compares a masked column with a table that the reader writes',
    severity: 'high',
    before: `create table public.guesses (guess text); grant select, insert on public.guesses to $analyst;
      alter table public.person enable row level security;
      create policy guessed on public.person using (email in (select guess from public.guesses))`,
    leak: `insert into public.guesses values ('${canary}'); select 'seen ' || count(id) from public.person`,
    shows: /seen 1/,
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
    severity: 'medium',
    before: `create schema own authorization $analyst; set role $analyst; create table own.kept as select * from public.person; reset role`,
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
    clause: 'ENF-437',
    what: 'an INSTEAD OF trigger on a view',
    severity: 'medium',
    before: `create view public.pane as select * from public.person; grant update on public.pane to $analyst;
      create function public.keep() returns trigger language plpgsql as $f$ begin raise exception '%', old.email; end $f$;
      create trigger keep instead of update on public.pane for each row execute function public.keep()`,
    leak: `update public.pane set note = 'x'`,
  },
  {
    code: 'RewriteRule',
    clause: 'ENF-437',
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
    what: 'a rule that copies',
    before: `create table public.journal (entry text); grant select on public.journal to $analyst; grant update on public.person to $analyst;
      create rule keep as on update to public.person do also insert into public.journal values (old.email)`,
    leak: `update public.person set note = 'x'; select entry from public.journal`,
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
