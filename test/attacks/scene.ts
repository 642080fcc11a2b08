import { takeTurn } from '../../src/masks/turn.ts'
import { type ClusterName, majorOf } from '../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../support/masked-database.ts'
import { canaries } from './canaries.ts'
import { type Attacker, type Mode, openAttacker } from './session.ts'

export type Scene = Awaited<ReturnType<typeof createScene>>

/** Masked tables, what stands on them, and roles: the analyst is masked, the auditor exempt, both else alike. */
export async function createScene(cluster: ClusterName) {
  const target = await createMaskedDatabase(cluster)
  const run = (text: string) => target.database.sql.unsafe(text)
  const names: Record<string, string> = {}
  for (const name of ['analyst', 'auditor', 'owner']) names[name] = `"${await target.createRole(name)}"`
  names.group = `"${await target.createRole('staffers', 'NOLOGIN')}"`
  await run(tables)
  // PostgreSQL 14 knows no view that looks with the privileges of its reader.
  await run(majorOf(cluster) < 15 ? views.replaceAll(' with (security_invoker)', '') : views)
  await run(fill(grants, names))
  await run('analyze')
  return {
    target,
    major: majorOf(cluster),
    async mask() {
      await takeTurn(target.database, policy(rules, [target.role('auditor')]))
      const [twin] = await run(
        `select relowner::regrole::text as owner from pg_class where oid = 'masked_public.customers'::regclass`,
      )
      names.twins = twin?.owner
    },
    /** Directly, or through the gateway on `port`. */
    openAttacker(who: 'analyst' | 'auditor', mode: Mode, port?: number): Promise<Attacker> {
      const url = new URL(target.urlOf(who))
      if (port !== undefined) url.host = `127.0.0.1:${port}`
      return openAttacker(url.href, { ...names, L: `lair_${who}` }, mode)
    },
  }
}

function fill(text: string, names: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{([a-z]+)\}/g, (whole, name: string) => names[name] ?? whole)
}

const grants = `
  do $$ begin execute format('grant create, temp on database %I to {analyst}, {auditor}', current_database()); end $$;
  grant {group} to {analyst}, {auditor};
  grant usage on schema public, audit, masked_reports, "Odd ""schema" to public;
  grant select on all tables in schema audit, masked_reports, "Odd ""schema" to {analyst}, {auditor};
  grant select on all tables in schema public to {group};
  grant select on public.customers to public;
  grant insert, update, delete on public.customers, public.v_customers to {analyst}, {auditor};
  grant insert, update, delete on public.orders, public.policed to {analyst}, {auditor};
  create schema lair_analyst authorization {analyst};
  create schema lair_auditor authorization {auditor};
  alter table public.ledger owner to {owner};
  grant select on public.ledger to {group}`

const rules = [
  rule('public.customers.email', 'Email'),
  rule('public.customers.ssn', 'SSN'),
  rule('public.customers.card', 'CCN'),
  rule('public.customers.salary', 'Number', { numberFrom: '1', numberTo: '100' }),
  rule('public.customers.born'),
  rule('public.customers.note', 'Text', { prefixSize: '1', suffixSize: '1', replacementString: '...' }),
  rule('public.customers.profile'),
  rule('public.customers.blob'),
  rule('public.customers.token'),
  rule('public.customers.tags'),
  rule('public.orders.phone'),
  rule('public.staff.wage'),
  rule('public.branch_b.bonus'),
  rule('public.computed.secret'),
  rule('public.computed.home'),
  rule('public.computed.homes'),
  rule('public.policed.word'),
]

const tables = `
  create table public.customers (
    id int primary key, name text not null check (name <> 'forbidden'), email text unique, ssn varchar(11), card text,
    salary numeric(12,2), born date, note text, profile jsonb, blob bytea, token uuid, tags text[],
    constraint pay_is_positive check (salary > 0));
  insert into public.customers values
    (1, 'ann', '${canaries.email}', '${canaries.ssn}', '${canaries.card}', ${canaries.salary}, '${canaries.born}',
      '${canaries.note}', '{"k":"${canaries.profile}"}', convert_to('${canaries.blob}', 'UTF8'), '${canaries.token}',
      array['${canaries.tag}']),
    (2, 'bob', 'bob@example.com', '123-45-6789', '4111-1111-1111-1111', 100.5, '2000-01-01', 'plain', '{}', 'x',
      '12345678-1234-1234-1234-123456789abc', '{a}'),
    (3, 'cy', null, null, null, null, null, null, null, null, null, null);
  insert into public.customers (id, name, email, salary)
    select n, 'name ' || n, 'mail' || n || '@example.com', n from generate_series(10, 60) n;
  create statistics public.customers_stats (mcv, dependencies) on name, email from public.customers;
  create index on public.customers (salary);
  create index customers_lower on public.customers (lower(note));
  create table public.orders (id int, region text, customer int, phone text, primary key (id)) partition by range (id);
  create table public.orders_1 partition of public.orders for values from (0) to (100) partition by range (id);
  create table public.orders_1a partition of public.orders_1 for values from (0) to (50);
  create table public.orders_2 partition of public.orders for values from (100) to (200);
  insert into public.orders values (1, 'north', 1, '${canaries.phone}'), (101, 'south', 1, '${canaries.phone}');
  create table public.staff (id int, name text, wage int);
  create table public.managers (car text) inherits (public.staff);
  insert into public.staff values (1, 'sid', ${canaries.wage});
  insert into public.managers values (2, 'moe', ${canaries.wage}, 'red');
  create table public.branch (id int, bonus int) partition by list (id);
  create table public.branch_a partition of public.branch for values in (1);
  create table public.branch_b partition of public.branch for values in (2);
  insert into public.branch values (1, 5), (2, ${canaries.bonus});
  create table public.ledger (id int, amount int);
  insert into public.ledger values (1, 42);
  create function public.name_of(public.customers) returns text language sql stable as 'select $1.email';
  create domain public.mail_address as text check (value like '%@%');
  create type public.place as (street text, town text);
  create table public.computed (id int, secret public.mail_address, home public.place, homes public.place[],
    twice text generated always as (secret || secret) stored);
  insert into public.computed values (1, '${canaries.email}', row('${canaries.note}', 't'),
    array[row('${canaries.note}', 't')::public.place]);
  create table public.policed (id int, word text);
  insert into public.policed values (1, '${canaries.note}'), (2, '${canaries.note}');
  alter table public.policed enable row level security;
  create policy low on public.policed using (id < 2);`

const views = `
  create schema audit;
  create schema masked_reports;
  create schema "Odd ""schema";
  create view public.v_customers as select * from public.customers;
  create view public.v_nested as select v.id, upper(v.email) as address, v.ssn from public.v_customers v;
  create view public.v_join as select o.id as order_id, c.email, o.phone, l.amount
    from public.orders o join public.customers c on c.id = o.customer left join public.ledger l on l.id = c.id;
  create view public.v_cte as with customers as (select id, email from public.customers)
    select * from customers union all select id, name from public.staff;
  create view public.v_sub as
    select id, (select c.email from public.customers c where c.id = s.id) as mail from public.staff s;
  create view public.v_row as select row_to_json(c) as j from public.customers c;
  create view public.v_whole as select c as c from public.customers c;
  create view public.v_barrier with (security_barrier) as select id, email from public.customers where id < 5;
  create view public.v_invoker with (security_invoker) as select id, email from public.customers;
  create recursive view public.v_recursive (id, mail) as
    select id, email from public.customers where id = 1 union all select id + 1, mail from v_recursive where id < 3;
  create materialized view public.m_customers as select id, email, salary from public.customers;
  create view public.v_material as select * from public.m_customers;
  create view public.v_aggregate as select max(email) as top, sum(salary) as pay, count(*) from public.customers;
  create view audit.trail as select id, email, born from public.customers;
  create view audit."TräilIng ""quote" as select t.id as "Id", t.email as "sélect" from audit.trail t;
  create view masked_reports.hand_made as select id, email from public.customers;
  create view "Odd ""schema"."odd ""view" as select id, note from public.customers;
  create view public.${'v'.repeat(63)} as select id, email from public.customers;`
