-- The masking API: servers, databases with their binding, the one policy of each database, its rules.
-- A `key` is a resource's path or name in lower case, folded by the service: how it is found, whatever case it is
-- asked for in. The names beside it keep the case in which they were first given.

-- Counts over all resources, so that one that is deleted and made again never gets an old entity tag.
create sequence resource_version;

create table server (
  tenant_id uuid not null,
  key text collate "C" not null,
  subscription_id text not null,
  resource_group text not null,
  name text not null,
  location text not null,
  tags jsonb not null default '{}',
  created_at timestamptz not null default now(),
  version bigint not null default nextval('resource_version'),
  primary key (tenant_id, key)
);

-- A database exists as soon as somebody names it in a rule, a policy or a binding.
create table masked_database (
  id uuid primary key,
  tenant_id uuid not null,
  key text collate "C" not null,
  subscription_id text not null,
  resource_group text not null,
  server_name text not null,
  name text not null,
  -- True when it was created by name, not only through a rule.
  declared boolean not null default false,
  location text not null,
  tags jsonb not null default '{}',
  -- How to reach the real database; null: nobody bound it. No secret in here.
  binding jsonb,
  binding_secret bytea, -- encrypted
  -- Grows with every change of the binding.
  binding_version bigint not null default 0,
  policy_state text not null default 'Disabled' check (policy_state in ('Enabled', 'Disabled')),
  -- Somebody chose the state; creating a rule no longer enables it.
  policy_state_chosen boolean not null default false,
  exempt_principals text not null default '',
  policy_version bigint not null default 0,
  created_at timestamptz not null default now(),
  version bigint not null default nextval('resource_version'),
  constraint masked_database_is_unique unique (tenant_id, key)
);

create table masking_rule (
  database_id uuid not null references masked_database (id) on delete cascade,
  key text collate "C" not null,
  name text not null,
  schema_name text collate "C" not null,
  table_name text collate "C" not null,
  column_name text collate "C" not null,
  masking_function text not null check (masking_function in ('CCN', 'Default', 'Email', 'Number', 'SSN', 'Text')),
  alias_name text,
  number_from text,
  number_to text,
  prefix_size text,
  suffix_size text,
  replacement_string text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version bigint not null default nextval('resource_version'),
  primary key (database_id, key),
  constraint masking_rule_column_has_one_rule unique (database_id, schema_name, table_name, column_name)
);
