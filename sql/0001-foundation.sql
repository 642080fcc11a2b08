-- Who this installation is. One row.
create table instance (
  singleton boolean primary key default true constraint instance_is_single check (singleton),
  id uuid not null default gen_random_uuid(),
  tenant_id uuid not null default gen_random_uuid(),
  created_at timestamptz not null default now()
);
insert into instance default values;

-- Who did what, when, with what before and after. Rows are only ever added.
create table audit_event (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  tenant_id uuid not null,
  actor jsonb not null,
  action text not null,
  -- The C collation lets an index serve prefix searches whatever the database's collation is.
  target text collate "C" not null,
  before jsonb,
  after jsonb,
  request_id text
);
create index audit_event_by_time on audit_event (tenant_id, at, id);
create index audit_event_by_target on audit_event (tenant_id, target, at, id);

-- Every committed change of the directory, in commit order and without gaps, so that a node can catch up from the
-- revision it has.
create table change_log (
  tenant_id uuid not null,
  revision bigint not null,
  at timestamptz not null default now(),
  entity text not null,
  entity_id text not null,
  kind text not null,
  data jsonb,
  primary key (tenant_id, revision)
);

create table revision_counter (
  tenant_id uuid primary key,
  value bigint not null constraint revision_counter_is_not_negative check (value >= 0)
);
