import { attacks, hit } from '../attack.ts'

export const catalogs = attacks('contained', ['ENF-07'], {
  pg_stats: `select * from pg_stats where schemaname <> 'pg_catalog'`,
  'pg_stats of the column': `select most_common_vals, histogram_bounds from pg_stats where tablename = 'customers'`,
  'pg_stats of a materialized view': `select * from pg_stats where tablename = 'm_customers'`,
  'pg_stats of a partition': `select * from pg_stats where tablename like 'orders%'`,
  'pg_stats of an index': {
    run: `select * from pg_stats where tablename = 'customers_lower'`,
    alone: 'PostgreSQL shows the statistics of an expression to the owner of its index alone',
  },
  pg_statistic: { run: 'select * from pg_statistic', alone: 'for superusers' },
  pg_stats_ext: { run: 'select * from pg_stats_ext', alone: 'in current versions for the owner alone' },
  pg_stats_ext_exprs: {
    run: 'select * from pg_stats_ext_exprs',
    alone: 'in current versions for the owner alone',
  },
  pg_statistic_ext_data: { run: 'select * from pg_statistic_ext_data', alone: 'for superusers' },
  pg_mcv_list_items: {
    run: 'select m.* from pg_statistic_ext_data, pg_mcv_list_items(stxdmcv) m',
    alone: 'for superusers',
  },
  pg_stat_activity: {
    run: 'select * from pg_stat_activity',
    alone: 'the statements of others are not shown to either',
  },
  pg_prepared_statements: {
    run: 'select * from pg_prepared_statements',
    alone: 'those of one’s own session',
  },
  pg_settings: {
    run: 'select name, setting, boot_val, reset_val from pg_settings',
    alone: 'settings hold no rows',
  },
  'the notes of the controller': `select * from masquerade_guard.relation;; select * from masquerade_guard.policy;;
    update masquerade_guard.relation set pins = '[]';; select email from {S}.customers`,
  'definitions of twins': `select pg_get_viewdef(oid) from pg_class where relkind = 'v';;
    select email from {S}.customers`,
  information_schema: `select * from information_schema.columns;; select * from
    information_schema.column_privileges;; select email from {S}.customers`,
  'files of the server': {
    run: `select pg_read_file('PG_VERSION');; select
    pg_read_binary_file(pg_relation_filepath('public.customers'));; copy public.customers to '/tmp/never'`,
    alone: 'for superusers and pg_read_server_files',
  },
  'pages of the table': {
    run: `create extension pageinspect;; select * from
    heap_page_items(get_raw_page('public.customers', 0))`,
    alone: 'for superusers',
  },
  'system columns': 'select ctid, xmin, tableoid, email from {S}.customers;; select email from {S}.customers',
  'minimum and maximum from an index': `set local enable_seqscan = off;; select max(salary), min(salary)
    from {S}.customers`,
  'an index of the attacker’s': {
    run: `create index on {S}.customers (email);;
    create statistics {L}.s on email, note from {S}.customers;; analyze {S}.customers;;
    select most_common_vals from pg_stats`,
    blindIn: 'binary',
  },
  'ANALYZE, verbose': 'analyze verbose {S}.customers;; select email from {S}.customers',
  'extended settings of the planner': `set local debug_print_plan = on;; set local client_min_messages = debug5;;
    select email from {S}.customers`,
  'pg_stats of arrays': `select most_common_elems, elem_count_histogram from pg_stats where schemaname = 'public'`,
  'pg_stats by the position of the column': {
    run: `select s from pg_stats s where schemaname = 'public' and
    inherited`,
    alone: 'the auditor sees those of partitioned tables as of others',
  },
  'definitions of everything': {
    run: `select pg_get_viewdef(oid, true), pg_get_ruledef(oid)
    from pg_class where relkind = 'v';; select pg_get_expr(adbin, adrelid) from pg_attrdef;;
    select pg_get_constraintdef(oid, true) from pg_constraint;;
    select pg_get_statisticsobjdef(oid), pg_get_statisticsobjdef_expressions(oid) from pg_statistic_ext;;
    select pg_get_partkeydef(oid), pg_get_expr(relpartbound, oid) from pg_class where relkind in ('r', 'p');;
    select pg_get_functiondef(oid) from pg_proc where prokind = 'f' and pronamespace = 'public'::regnamespace;;
    select pg_get_triggerdef(oid) from pg_trigger;; select * from pg_policies`,
    alone: 'the schema of the scene holds no constant that is secret',
  },
  'missing values of added columns': {
    run: `select attrelid::regclass, attmissingval from pg_attribute where
    atthasmissing`,
    alone: 'no masked column of the scene was added with a default; where one was, it is listed (ENF-469)',
  },
  'counters of tables': {
    run: `select * from pg_stat_all_tables;; select * from pg_statio_all_tables;;
    select * from pg_stat_database`,
    alone: 'they count rows',
  },
  'sizes of rows': {
    run: `select 'hit' from {S}.customers c where id = 1 and pg_column_size(c.note) = 21`,
    tell: hit,
  },
  'sizes of tables': {
    run: `select pg_relation_size('public.customers'), pg_table_size('public.customers')`,
    alone: 'the number of pages is open',
  },
  sequences: { run: 'select * from pg_sequences', alone: 'no masked column of the scene has one (ENF-418)' },
  'transactions of rows': {
    run: 'select pg_xact_commit_timestamp(xmin) from {S}.customers',
    alone: 'commit timestamps hold no rows',
  },
  'the first row version by ctid': `select email from {S}.customers where ctid = '(0,1)'`,
  'a range of pages by ctid': `select email from {S}.customers where ctid < '(1,0)'`,
  'the table by its OID': `do $$ begin execute format('copy %s to stdout', 'public.customers'::regclass);
    exception when others then execute (select format('create temp table t as select * from %s',
    'public.customers'::regclass)); end $$;; table t`,
  'planner estimates by name of the statistics': {
    run: `explain (format json) select id from {S}.customers
    where name = 'ann' and email = 'x';; select * from pg_statistic_ext`,
    alone: 'estimates name no value',
  },
})

/** What the server keeps for those who run it. */
export const serverFiles = attacks('contained', ['ENF-07'], {
  'a file': {
    run: `select pg_read_file('PG_VERSION');; select pg_read_binary_file('PG_VERSION')`,
    denied: true,
  },
  'a directory': {
    run: `select pg_ls_dir('.');; select pg_ls_waldir();; select pg_ls_tmpdir()`,
    denied: true,
  },
  'a large object to a file': {
    prepare: 'select lo_create(424243)',
    run: `select lo_export(424243, '/tmp/never');; select lo_import('/etc/hosts')`,
    denied: true,
  },
  'COPY to a file': { run: `copy (select 1) to '/tmp/never'`, denied: true },
  'COPY to a program': {
    run: `copy (select 1) to program 'true';; copy {L}.c from program 'true'`,
    alone: 'see COPY',
  },
  'the log of changes': {
    run: `select pg_create_logical_replication_slot('never', 'test_decoding');;
    select pg_create_physical_replication_slot('never')`,
    denied: true,
  },
  'a backup': { run: 'select pg_switch_wal()', denied: true },
  'pages by extensions': {
    run: `create extension pageinspect;; create extension pg_visibility;;
    create extension pgstattuple;; create extension pg_buffercache;; create extension amcheck;;
    create extension pg_freespacemap`,
    denied: true,
  },
  'statistics of statements': { run: 'create extension pg_stat_statements', denied: true },
  'the memory of others': { run: 'select pg_log_backend_memory_contexts(1)', denied: true },
  'the log': { run: `set log_statement = 'all';; set log_min_duration_statement = 0`, denied: true },
  'the statistics, written': {
    run: `select pg_clear_attribute_stats('public', 'customers', 'email', false)`,
    denied: true,
    since: 18,
  },
})
