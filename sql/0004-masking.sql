-- The masking API: servers, databases with their binding, the one policy of each database, its rules.

create table server (
  tenant_id uuid not null,
  subscription_id text not null,
  resource_group text not null,
  name text not null,
  location text not null default '',
  tags jsonb not null default '{}',
  created_at timestamptz not null default now(),
  version bigint not null default 1
);
create unique index server_is_unique on server (tenant_id, lower(subscription_id), lower(resource_group), lower(name));

-- A database exists as soon as somebody names it in a rule, a policy or a binding.
create table masked_database (
  id uuid primary key,
  tenant_id uuid not null,
  -- As first named; comparisons ignore case.
  subscription_id text not null,
  resource_group text not null,
  server_name text not null,
  name text not null,
  -- True when it was created by name, not only through a rule.
  declared boolean not null default false,
  location text not null default '',
  tags jsonb not null default '{}',
  -- How to reach the real database; null: nobody bound it. No secret in here.
  binding jsonb,
  binding_secret bytea, -- encrypted
  policy_state text not null default 'Disabled' check (policy_state in ('Enabled', 'Disabled')),
  -- Somebody chose the state; creating a rule no longer enables it.
  policy_state_chosen boolean not null default false,
  exempt_principals text not null default '',
  created_at timestamptz not null default now(),
  version bigint not null default 1
);
create unique index masked_database_is_unique on masked_database
  (tenant_id, lower(subscription_id), lower(resource_group), lower(server_name), lower(name));

create table masking_rule (
  database_id uuid not null references masked_database (id) on delete cascade,
  name text not null,
  schema_name text not null,
  table_name text not null,
  column_name text not null,
  masking_function text not null check (masking_function in ('CCN', 'Default', 'Email', 'Number', 'SSN', 'Text')),
  alias_name text,
  number_from text,
  number_to text,
  prefix_size text,
  suffix_size text,
  replacement_string text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version bigint not null default 1,
  constraint masking_rule_column_has_one_rule unique (database_id, schema_name, table_name, column_name)
);
create unique index masking_rule_name_is_unique on masking_rule (database_id, lower(name));
