-- The nodes of the service that run: each writes its own row every few seconds. A row that is not written any more is of a
-- node that was killed.
create table node (
  id uuid not null primary key,
  host_name text not null,
  version text not null,
  started_at timestamptz not null,
  seen_at timestamptz not null default now(),
  gateway_sessions integer not null
);
