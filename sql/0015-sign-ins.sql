-- Sign-ins, one row for all that are alike within a minute: `digest` has kind, outcome, principal, client and network.
-- The columns beside `properties` are those that filters go by.

create table sign_in (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  window_start timestamptz not null,
  digest text not null,
  created_at timestamptz not null,
  last_at timestamptz not null,
  attempts bigint not null,
  user_principal_name text,
  user_id text,
  app_id text,
  properties jsonb not null,
  primary key (tenant_id, id),
  unique (tenant_id, window_start, digest)
);

create index sign_in_by_time on sign_in (tenant_id, created_at, id);
create index sign_in_by_principal_name on sign_in
  (tenant_id, (lower(coalesce(user_principal_name, '')) collate "C"), created_at, id);
create index sign_in_by_user on sign_in (tenant_id, user_id, created_at, id);
create index sign_in_by_app on sign_in (tenant_id, app_id, created_at, id);

-- Changes of the directory among the entries of the audit trail; those of the gateway are many.
create index audit_event_of_directory on audit_event (tenant_id, at, id) where action not like '%/%';
