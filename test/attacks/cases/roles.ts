import { attacks } from '../attack.ts'

export const roles = attacks('contained', ['ENF-08'], {
  'SET ROLE to an exempt role': `set role {auditor};; select email from public.customers;; reset role;;
    select email from public.customers`,
  'SET ROLE to the group': {
    run: `set role {group};; select email from public.customers;; reset role;;
    select email from public.customers`,
    tell: /canary/,
    alone: 'the group is masked too',
  },
  'SET ROLE to the owner': {
    run: `set role {owner};; select email from public.customers;; reset role;;
    select email from public.customers`,
    tell: /canary/,
    alone: 'an exempt role is no owner either, but reads anyway',
  },
  'SET ROLE to the owner of the twins': `set role {twins};; select email from public.customers;; reset role;;
    select email from public.customers`,
  'SET ROLE to a built-in role': `set role pg_read_all_data;; select email from public.customers;; reset role;;
    select email from public.customers`,
  'SET SESSION AUTHORIZATION': 'set session authorization {auditor};; select email from public.customers',
  'RESET SESSION AUTHORIZATION': `reset session authorization;; reset all;; discard temp;;
    select email from public.customers`,
  'GRANT an exempt role to oneself': 'grant {auditor} to {analyst};; select email from public.customers',
  'GRANT the table to oneself': `grant select on {S}.customers to {analyst};;
    grant select (email) on {S}.customers to public;; select email from public.customers`,
  'REVOKE from others': 'revoke all on {S}.customers from {auditor};; select email from public.customers',
  'ALTER TABLE': `alter table {S}.customers owner to {analyst};; alter table {S}.customers disable row level
    security;; select email from public.customers`,
  'ALTER VIEW': `alter view masked_public.customers set (security_invoker = true);;
    alter view masked_public.customers owner to {analyst};; create or replace view masked_public.customers as select
    * from public.customers;; select email from public.customers`,
  'DROP the twin': `drop view masked_public.customers cascade;; drop schema masked_public cascade;;
    select email from public.customers`,
  'create in the shadow': `create view masked_public.mine as select email from public.customers;;
    select * from masked_public.mine;; select email from public.customers`,
  'ALTER DEFAULT PRIVILEGES': `alter default privileges grant select on tables to public;;
    select email from public.customers`,
  'row_security off': 'set local row_security = off;; select email from {S}.customers',
  session_replication_role: 'set local session_replication_role = replica;; select email from {S}.customers',
  'CREATE ROLE and PUBLICATION': `create role never_made superuser;; create publication p for table
    public.customers;; select email from public.customers`,
  'REASSIGN and DROP OWNED': `reassign owned by {twins} to {analyst};; drop owned by {twins};;
    select email from public.customers`,
  'SECURITY LABEL and COMMENT': `comment on column {S}.customers.email is 'x';; select email from public.customers`,
})

/** Rights that would end in raw values. */
export const deniedRights = attacks('contained', ['ENF-08'], {
  'to be a superuser': {
    run: 'alter role {analyst} superuser;; alter role {analyst} bypassrls',
    denied: true,
  },
  'to have a predefined role': {
    run: `grant pg_read_all_data to {analyst};; grant pg_monitor to {analyst};;
    grant pg_signal_backend to {analyst}`,
    denied: true,
  },
  'to have an owner of twins': { run: 'grant {twins} to {analyst};; set role {twins}', denied: true },
  'the password of an exempt role': { run: `alter role {auditor} password 'x'`, denied: true },
  'the name of an exempt role': { run: 'alter role {auditor} rename to never', denied: true },
  'settings of an exempt role': {
    run: `alter role {auditor} set search_path = lair_analyst;;
    alter role all set row_security = off`,
    denied: true,
  },
  'settings of the server': {
    run: `set session_preload_libraries = x;; set allow_system_table_mods = on;;
    set zero_damaged_pages = on`,
    denied: true,
  },
  'default privileges of others': {
    run: `alter default privileges for role {auditor} grant select on tables to
    {analyst};; alter default privileges for role {twins} grant select on tables to {analyst}`,
    denied: true,
  },
  'a publication of the table': {
    run: `create publication p for table public.customers;;
    create publication p for all tables`,
    denied: true,
  },
  'a publication of a schema': {
    run: 'create publication p for tables in schema public',
    denied: true,
    since: 15,
  },
  'a subscription': {
    run: `create subscription s connection '' publication p with (connect = false)`,
    denied: true,
  },
  'a server that leads back': {
    run: `create extension postgres_fdw;; create extension dblink;;
    create extension file_fdw`,
    denied: true,
  },
  'a foreign data wrapper': { run: 'create foreign data wrapper w', denied: true },
  'a statistics object over the table': {
    run: 'create statistics {L}.s on name, email from public.customers',
    denied: true,
  },
  'an index over the table': { run: 'create index on public.customers (email)', denied: true },
  'maintenance of the table': {
    run: `cluster public.customers using customers_pkey;;
    reindex table public.customers`,
    denied: true,
  },
  'an owner for what one made': {
    prepare: 'create view {L}.v as select email from public.customers',
    run: 'alter view {L}.v owner to {auditor}',
    denied: true,
  },
  'the owner of the table': {
    run: `alter table public.customers owner to {analyst};;
    alter schema public owner to {analyst}`,
    denied: true,
  },
  'what belongs to others': {
    run: `reassign owned by {auditor} to {analyst};; drop owned by {auditor};;
    drop role {auditor}`,
    denied: true,
  },
  'the record of the controller': {
    run: `select * from masquerade_guard.policy;;
    insert into masquerade_guard.policy values (true);; delete from masquerade_guard.relation;;
    lock table masquerade_guard.policy;; create table masquerade_guard.mine (id int);;
    drop schema masquerade_guard cascade`,
    denied: true,
  },
  'the schema of the twins': {
    run: `create table masked_public.mine (id int);;
    create function masked_public.left(text, int) returns text language sql as $$ select $1 $$;;
    alter schema masked_public rename to never;; drop view masked_public.customers cascade`,
    denied: true,
  },
})
