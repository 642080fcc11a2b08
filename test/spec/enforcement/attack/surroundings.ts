import type { Attack } from './attacker.ts'

/** Catalogs, statistics, and what the server tells about others. */
export const catalogs: readonly Attack[] = [
  // Those of the catalogs are full of numbers, and one of them may look like a secret.
  { name: 'pg_stats', run: [`select * from pg_stats where schemaname <> 'pg_catalog'`] },
  {
    name: 'pg_stats of the column',
    run: [`select most_common_vals, histogram_bounds from pg_stats where tablename = 'customers'`],
  },
  {
    name: 'pg_stats of a materialized view',
    run: [`select * from pg_stats where tablename = 'm_customers'`],
  },
  { name: 'pg_stats of a partition', run: [`select * from pg_stats where tablename like 'orders%'`] },
  {
    name: 'pg_stats of an index',
    run: [`select * from pg_stats where tablename = 'customers_lower'`],
    alone: 'PostgreSQL shows the statistics of an expression to the owner of its index alone',
  },
  { name: 'pg_statistic', run: ['select * from pg_statistic'], alone: 'for superusers' },
  {
    name: 'pg_stats_ext',
    run: ['select * from pg_stats_ext'],
    alone: 'in current versions for the owner alone',
  },
  {
    name: 'pg_stats_ext_exprs',
    run: ['select * from pg_stats_ext_exprs'],
    alone: 'in current versions for the owner alone',
  },
  { name: 'pg_statistic_ext_data', run: ['select * from pg_statistic_ext_data'], alone: 'for superusers' },
  {
    name: 'pg_mcv_list_items',
    run: ['select m.* from pg_statistic_ext_data, pg_mcv_list_items(stxdmcv) m'],
    alone: 'for superusers',
  },
  {
    name: 'pg_stat_activity',
    run: [`select * from pg_stat_activity`],
    alone: 'the statements of others are not shown to either',
  },
  {
    name: 'pg_prepared_statements',
    run: ['select * from pg_prepared_statements'],
    alone: 'those of one’s own session',
  },
  {
    name: 'pg_settings',
    run: ['select name, setting, boot_val, reset_val from pg_settings'],
    alone: 'settings hold no rows',
  },
  {
    name: 'the notes of the controller',
    run: [
      'select * from masquerade_guard.relation',
      'select * from masquerade_guard.policy',
      `update masquerade_guard.relation set pins = '[]'`,
      'select email from {S}.customers',
    ],
  },
  {
    name: 'definitions of twins',
    run: [`select pg_get_viewdef(oid) from pg_class where relkind = 'v'`, 'select email from {S}.customers'],
  },
  {
    name: 'information_schema',
    run: [
      'select * from information_schema.columns',
      'select * from information_schema.column_privileges',
      'select email from {S}.customers',
    ],
  },
  {
    name: 'files of the server',
    run: [
      `select pg_read_file('PG_VERSION')`,
      `select pg_read_binary_file(pg_relation_filepath('public.customers'))`,
      `copy public.customers to '/tmp/never'`,
    ],
    alone: 'for superusers and pg_read_server_files',
  },
  {
    name: 'pages of the table',
    run: [
      'create extension pageinspect',
      `select * from heap_page_items(get_raw_page('public.customers', 0))`,
    ],
    alone: 'for superusers',
  },
  {
    name: 'system columns',
    run: ['select ctid, xmin, tableoid, email from {S}.customers', 'select email from {S}.customers'],
  },
  {
    name: 'minimum and maximum from an index',
    run: ['set local enable_seqscan = off', 'select max(salary), min(salary) from {S}.customers'],
  },
  {
    name: 'an index of the attacker’s',
    run: [
      'create index on {S}.customers (email)',
      'create statistics {L}.s on email, note from {S}.customers',
      'analyze {S}.customers',
      'select most_common_vals from pg_stats',
    ],
  },
  { name: 'ANALYZE, verbose', run: ['analyze verbose {S}.customers', 'select email from {S}.customers'] },
  {
    name: 'extended settings of the planner',
    run: [
      'set local debug_print_plan = on',
      'set local client_min_messages = debug5',
      'select email from {S}.customers',
    ],
  },
]

const become = (role: string) => [
  `set role ${role}`,
  'select email from public.customers',
  'reset role',
  'select email from public.customers',
]

/** Becoming somebody else. `{…}` are roles of the scene, filled in by the test. */
export const roles: readonly Attack[] = [
  { name: 'SET ROLE to an exempt role', run: become('{auditor}') },
  { name: 'SET ROLE to the group', run: become('{group}'), alone: 'the group is masked too', tell: /canary/ },
  {
    name: 'SET ROLE to the owner',
    run: become('{owner}'),
    alone: 'an exempt role is no owner either, but reads anyway',
    tell: /canary/,
  },
  { name: 'SET ROLE to the owner of the twins', run: become('{twins}') },
  { name: 'SET ROLE to a built-in role', run: become('pg_read_all_data') },
  {
    name: 'SET SESSION AUTHORIZATION',
    run: ['set session authorization {auditor}', 'select email from public.customers'],
  },
  {
    name: 'RESET SESSION AUTHORIZATION',
    run: ['reset session authorization', 'reset all', 'discard temp', 'select email from public.customers'],
  },
  {
    name: 'GRANT an exempt role to oneself',
    run: ['grant {auditor} to {analyst}', 'select email from public.customers'],
  },
  {
    name: 'GRANT the table to oneself',
    run: [
      'grant select on {S}.customers to {analyst}',
      'grant select (email) on {S}.customers to public',
      'select email from public.customers',
    ],
  },
  {
    name: 'REVOKE from others',
    run: ['revoke all on {S}.customers from {auditor}', 'select email from public.customers'],
  },
  {
    name: 'ALTER TABLE',
    run: [
      'alter table {S}.customers owner to {analyst}',
      'alter table {S}.customers disable row level security',
      'select email from public.customers',
    ],
  },
  {
    name: 'ALTER VIEW',
    run: [
      'alter view masked_public.customers set (security_invoker = true)',
      'alter view masked_public.customers owner to {analyst}',
      'create or replace view masked_public.customers as select * from public.customers',
      'select email from public.customers',
    ],
  },
  {
    name: 'DROP the twin',
    run: [
      'drop view masked_public.customers cascade',
      'drop schema masked_public cascade',
      'select email from public.customers',
    ],
  },
  {
    name: 'create in the shadow',
    run: [
      'create view masked_public.mine as select email from public.customers',
      'select * from masked_public.mine',
      'select email from public.customers',
    ],
  },
  {
    name: 'ALTER DEFAULT PRIVILEGES',
    run: ['alter default privileges grant select on tables to public', 'select email from public.customers'],
  },
  { name: 'row_security off', run: ['set local row_security = off', 'select email from {S}.customers'] },
  {
    name: 'session_replication_role',
    run: ['set local session_replication_role = replica', 'select email from {S}.customers'],
  },
  {
    name: 'CREATE ROLE and PUBLICATION',
    run: [
      'create role never_made superuser',
      'create publication p for table public.customers',
      'select email from public.customers',
    ],
  },
  {
    name: 'REASSIGN and DROP OWNED',
    run: [
      'reassign owned by {twins} to {analyst}',
      'drop owned by {twins}',
      'select email from public.customers',
    ],
  },
  {
    name: 'SECURITY LABEL and COMMENT',
    run: [`comment on column {S}.customers.email is 'x'`, 'select email from public.customers'],
  },
]
