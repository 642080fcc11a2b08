import pg from 'pg'
import type { Database } from '../../../src/db/database.ts'
import { canary, type ExposureCase } from './exposure-cases.ts'

/** What a session is told that has the plans of all statements printed to itself, with their constants as texts. Undone afterwards. */
const printedBy =
  (run: string, settings = 'client_min_messages = log') =>
  async (_session: Database, _owner: Database, url: string) => {
    const client = new pg.Client({ connectionString: url })
    const seen: string[] = []
    client.on('notice', ({ message, detail }) => seen.push(message ?? '', detail ?? ''))
    await client.connect()
    await client
      .query(
        `begin; set local debug_pretty_print = off; set local debug_print_plan = on; set local ${settings}; ${run}`,
      )
      .catch((error: Error & { detail?: string }) => seen.push(error.message, error.detail ?? ''))
      .finally(() => client.end())
    return (
      seen
        .join(' ')
        // The server breaks lines between bytes.
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/\[ ([-0-9 ]+) \]/g, (_, bytes: string) =>
          String.fromCharCode(...bytes.split(' ').map(Number)),
        )
    )
  }

/** The canary, if PostgreSQL expects more rows of one person with it than of another. */
const linkedBy =
  (first: string, second: string) =>
  async (...around: Parameters<ReturnType<typeof printedBy>>) => {
    const [one = 0, other = 0] = await Promise.all(
      [first, second].map(async (note) => {
        const from = `from public.person where email = '${canary}' and note = '${note}'`
        const plan = await printedBy(`select 1 ${from}`)(...around)
        return Number(/plan_rows (\d+)/.exec(plan)?.[1] ?? Number.NaN)
      }),
    )
    return one > 5 * other ? canary : `${one} and ${other}`
  }
const combined = `insert into public.person select i, case when i % 2 = 0 then '${canary}' else 'x' end, case when i % 2 = 0 then 'hello' else 'bye' end
  from generate_series(2, 401) i`

const referred = `alter table public.person add unique (email); create table public.ref (email text references public.person (email))`
const allowed = 'create table public.allowed (mail text); grant select on public.allowed to public'
const policed =
  'create policy p on public.person using (public.staff(email)); alter table public.person enable row level security'
const read = 'select id from masked_public.person'
const argument = {
  code: 'PrintedArgument',
  clause: 'ENF-501',
  severity: 'high',
  leak: printedBy(read),
} satisfies Partial<ExposureCase>
const usual = { code: 'PrintedKey', clause: 'ENF-497', severity: 'high' } satisfies Partial<ExposureCase>

/** Queries of PostgreSQL's own whose plan has a raw value, and which a masked role has printed to itself. */
export const printedValueCases: readonly ExposureCase[] = [
  {
    code: 'LinkedStatistics',
    clause: 'ENF-508',
    severity: 'high',
    what: 'most common combinations of a masked column and another',
    before: combined,
    setup: 'create statistics public.combined on email, note from public.person; analyze public.person',
    leak: linkedBy('hello', 'bye'),
  },
  {
    code: 'LinkedStatistics',
    clause: 'ENF-508',
    severity: 'high',
    what: 'the same for a role without a right to the table',
    roles: { guest: 'login' },
    as: 'guest',
    before: combined,
    setup:
      'create statistics public.combined (mcv) on lower(email), note from public.person; create statistics public.plain (mcv) on email, note from public.person; analyze public.person',
    leak: linkedBy('hello', 'bye'),
  },
  {
    ...usual,
    what: 'a deletion of rows that a key refers to',
    before: referred,
    setup: 'grant delete on public.person to $analyst',
    leak: printedBy('delete from public.person'),
  },
  {
    ...usual,
    what: 'an update of the masked key itself',
    before: referred,
    setup: 'grant update (email) on public.person to $analyst',
    leak: printedBy("update public.person set email = 'x'"),
  },
  {
    ...usual,
    what: 'an update of another column of the key that is referred to',
    before: `alter table public.person add unique (note, email); create table public.ref (note text, email text, foreign key (note, email) references public.person (note, email) on update cascade)`,
    setup: 'grant update (note) on public.person to $analyst',
    leak: printedBy("update public.person set note = 'x'"),
  },
  {
    ...usual,
    what: 'an update of another column of the key that refers',
    before: `create table public.known (note text, email text, primary key (note, email)); insert into public.known select note, email from public.person;
      alter table public.person add foreign key (note, email) references public.known`,
    setup: 'grant update (note) on public.person to $analyst',
    leak: printedBy("update public.person set note = 'x'"),
  },
  {
    ...usual,
    what: 'a deletion that deletes masked rows by another key',
    before: `${referred}; create table public.team (id int primary key); insert into public.team values (1);
      alter table public.person add foreign key (id) references public.team on delete cascade`,
    setup: 'grant delete on public.team to $analyst',
    leak: printedBy('delete from public.team'),
  },
  {
    ...usual,
    what: 'an update that changes another column of the key by another key',
    before: `create table public.known (note text, email text, primary key (note, email)); insert into public.known select note, email from public.person;
      create table public.word (note text primary key); insert into public.word values ('hello');
      alter table public.person add foreign key (note, email) references public.known, add foreign key (note) references public.word on update cascade`,
    setup: 'grant update (note) on public.word to $analyst',
    leak: printedBy("update public.word set note = 'x'"),
  },
  {
    ...usual,
    what: 'such a table of the masked role itself',
    before: `${referred}; create table public.team (id int primary key); insert into public.team values (1);
      alter table public.person add foreign key (id) references public.team on delete cascade`,
    setup: 'alter table public.team owner to $analyst',
    leak: printedBy('delete from public.team'),
  },
  {
    ...usual,
    what: 'a view over rows that a key refers to',
    before: `${referred}; create view public.doors as select id from public.person`,
    setup: 'grant delete on public.doors to $analyst',
    leak: printedBy('delete from public.doors'),
  },
  {
    ...usual,
    what: 'a partition of a table that a key refers to',
    before: `create table public.split (id int, email text primary key) partition by list (email); create table public.split_z partition of public.split default;
      insert into public.split select id, email from public.person; create table public.ref (email text references public.split (email))`,
    setup: 'grant delete on public.split_z to $analyst',
    leak: printedBy('delete from public.split_z'),
  },
  {
    ...argument,
    what: 'a row policy whose function in PL/pgSQL runs a query, for a role that reads',
    before: `${allowed}; create function public.staff(t text) returns boolean language plpgsql set search_path = public, pg_temp as
      'begin return not exists (select from public.allowed where mail = t); end'; ${policed}`,
  },
  {
    ...argument,
    what: 'such a function with the rights of its owner',
    before: `${allowed}; create function public.staff(t text) returns boolean language plpgsql security definer set search_path = public, pg_temp as
      'begin return not exists (select from public.allowed where mail = t); end'; ${policed}`,
  },
  {
    ...argument,
    what: 'an expression with an aggregate',
    before: `create function public.staff(t text) returns boolean language plpgsql set search_path = public, pg_temp as
      'begin return max(t) is not null; end'; ${policed}`,
  },
  {
    ...argument,
    what: 'a function in SQL that runs a query',
    versions: { from: 180000 },
    before: `${allowed}; create function public.staff(t text) returns boolean language sql as 'select not exists (select from public.allowed where mail = t)'; ${policed}`,
  },
  {
    ...argument,
    what: 'a body in standard SQL that runs a query',
    versions: { from: 180000 },
    before: `${allowed}; create function public.staff(t text) returns boolean language sql begin atomic; select not exists (select from public.allowed where mail = t); end; ${policed}`,
  },
  {
    ...argument,
    what: 'a function in SQL that sets a search path, and is called by itself for this',
    versions: { from: 180000 },
    before: `create function public.norm(t text) returns text language sql immutable set search_path = public, pg_temp as 'select lower(t)';
      alter table public.person add check (public.norm(email) <> '')`,
    setup: 'grant update (note) on public.person to $analyst',
    leak: printedBy('update public.person set note = note'),
  },
  {
    ...argument,
    what: 'a trigger that writes the former value elsewhere',
    before: `create table public.history (id int, email text); grant insert on public.history to public;
      create function public.note() returns trigger language plpgsql set search_path = public, pg_temp as 'begin insert into public.history values (old.id, old.email); return new; end';
      create trigger note after update on public.person for each row execute function public.note()`,
    setup: 'grant update (note) on public.person to $analyst',
    leak: printedBy('update public.person set note = note'),
  },
  {
    ...argument,
    what: 'a message for debugging',
    before: `create function public.staff(t text) returns boolean language plpgsql set search_path = public, pg_temp as 'begin raise debug ''%'', t; return true; end'; ${policed}`,
    leak: printedBy(read, 'client_min_messages = debug1'),
  },
  {
    ...argument,
    what: 'an error of INTO STRICT',
    before: `${allowed}; create function public.staff(t text) returns boolean language plpgsql set search_path = public, pg_temp as
      'declare m text; begin select mail into strict m from public.allowed where mail = t; return true; end'; ${policed}`,
    leak: printedBy(read, 'plpgsql.print_strict_params = on'),
  },
]
