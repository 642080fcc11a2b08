-- What the migrations add up to. Made by `npm run schema`; a test compares it with a migrated database.

create table audit_event (
  id bigint generated always as identity not null,
  at timestamp with time zone default now() not null,
  tenant_id uuid not null,
  actor jsonb not null,
  action text not null,
  target text collate "C" not null,
  before jsonb,
  after jsonb,
  request_id text,
  constraint audit_event_pkey PRIMARY KEY (id)
);

create table change_log (
  tenant_id uuid not null,
  revision bigint not null,
  at timestamp with time zone default now() not null,
  entity text not null,
  entity_id text not null,
  kind text not null,
  data jsonb,
  constraint change_log_pkey PRIMARY KEY (tenant_id, revision)
);

create table instance (
  singleton boolean default true not null,
  id uuid default gen_random_uuid() not null,
  tenant_id uuid default gen_random_uuid() not null,
  created_at timestamp with time zone default now() not null,
  constraint instance_pkey PRIMARY KEY (singleton),
  constraint instance_is_single CHECK (singleton)
);

create table masquerade_migration (
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  constraint masquerade_migration_pkey PRIMARY KEY (number)
);

create table revision_counter (
  tenant_id uuid not null,
  value bigint not null,
  constraint revision_counter_pkey PRIMARY KEY (tenant_id),
  constraint revision_counter_is_not_negative CHECK ((value >= 0))
);

CREATE INDEX audit_event_by_target ON audit_event USING btree (tenant_id, target, at, id);
CREATE INDEX audit_event_by_time ON audit_event USING btree (tenant_id, at, id);
