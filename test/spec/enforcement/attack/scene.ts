import { createHash } from 'node:crypto'
import { twinOwnerName } from '../../../../src/enforcement/names.ts'
import { reconcile } from '../../../../src/enforcement/reconcile.ts'
import { int32 } from '../../../../src/wire/messages.ts'
import { type ClusterName, majorOf } from '../../../support/cluster.ts'
import { createMaskedDatabase, policy, rule } from '../../../support/masked-database.ts'
import { type Attacker, openAttacker } from './attacker.ts'

/** A raw value of each masked column that nothing else in the database holds or resembles. */
export const canaries = {
  email: 'zqcanary-mail@leak.test',
  ssn: '914-27-8305',
  card: '4929-7316-5482-9067',
  salary: '7316549.25',
  born: '1987-06-05',
  note: 'zqcanary-note-hidden',
  profile: 'zqcanary-json',
  blob: 'zqcanary-bytes',
  token: 'c0ffee15-1ea4-4bad-8bad-5eed5eed5eed',
  tag: 'zqcanary-tag',
  phone: '+15550142867',
  wage: '8825531',
  bonus: '9914427',
} as const

/** What each mask lets through is not part of these. */
const needles = [
  'canary',
  '914-27',
  '91427',
  '4929-7316',
  '49297316',
  '7316549',
  '7.31654925',
  '1987-06-05',
  'c0ffee15',
  '15550142867',
  '8825531',
  '9914427',
]
const hashed = [canaries.email, canaries.note]

/** Everything by which a canary would be recognised: itself, backwards, in hexadecimal, in base 64, hashed. */
export const traces: readonly string[] = [
  ...needles,
  ...needles.map((text) => [...text].reverse().join('')),
  ...needles.map((text) => Buffer.from(text).toString('hex')),
  ...hashed.map((text) => Buffer.from(text).toString('base64').slice(0, 20)),
  // md5 and sha256 of the two strings that cases hash.
  ...hashed.flatMap((text) => ['md5', 'sha256'].map((name) => digest(name, text))),
].map((text) => text.toLowerCase())

function digest(name: string, text: string): string {
  return createHash(name).update(text).digest('hex')
}

/** The values that are no strings, as results in binary have them: numeric in base 10,000, days from 2000 on. */
export const binaryTraces: readonly Buffer[] = [
  int32(Number(canaries.wage)),
  int32(Number(canaries.bonus)),
  int32((Date.parse(canaries.born) - Date.parse('2000-01-01')) / 86_400_000),
  Buffer.from([731, 6549, 2500].flatMap((digits) => [digits >> 8, digits & 255])),
  Buffer.from(canaries.token.replaceAll('-', ''), 'hex'),
]

export type Scene = Awaited<ReturnType<typeof createScene>>

export async function createScene(cluster: ClusterName) {
  const target = await createMaskedDatabase(cluster)
  const analyst = await target.createRole('analyst')
  const auditor = await target.createRole('auditor')
  const owner = await target.createRole('owner')
  const group = await target.createRole('staffers', 'NOLOGIN')
  await target.database.sql.unsafe(tables)
  // PostgreSQL 14 knows no view that looks with the privileges of its reader.
  const known = majorOf(cluster) < 15 ? views.replaceAll(' with (security_invoker)', '') : views
  await target.database.sql.unsafe(known)
  await target.database.sql.unsafe(`
    grant "${group}" to "${analyst}", "${auditor}";
    grant usage on schema public, audit, masked_reports, "Odd ""schema" to public;
    grant select on all tables in schema audit, masked_reports, "Odd ""schema" to "${analyst}", "${auditor}";
    grant select on all tables in schema public to "${group}";
    grant select on public.customers to public;
    grant insert, update, delete on public.customers, public.v_customers to "${analyst}", "${auditor}";
    create schema lair_analyst authorization "${analyst}";
    create schema lair_auditor authorization "${auditor}";
    alter table public.ledger owner to "${owner}";
    grant select on public.ledger to "${group}"`)
  await target.database.sql.unsafe('analyze')
  await reconcile(target.database, policy(rules, [auditor]))
  const names = {
    analyst,
    auditor,
    owner,
    group,
    twins: twinOwnerName(new URL(target.url).pathname.slice(1)),
  }
  const quoted = Object.fromEntries(Object.entries(names).map(([name, role]) => [name, `"${role}"`]))
  return {
    target,
    analyst,
    auditor,
    owner,
    group,
    rules,
    policy: policy(rules, [auditor]),

    /** Directly, or through the gateway on `port`. */
    openAttacker(who: 'analyst' | 'auditor', port?: number): Promise<Attacker> {
      const url = new URL(target.url)
      Object.assign(url, { username: names[who], password: 'secret' })
      if (port !== undefined) url.host = `127.0.0.1:${port}`
      return openAttacker(url.href, { ...quoted, L: `lair_${who}` })
    },
  }
}

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
  create function public.name_of(public.customers) returns text language sql stable as 'select $1.email';`

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
  create view public.v_sub as select id, (select c.email from public.customers c where c.id = s.id) as mail from public.staff s;
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
