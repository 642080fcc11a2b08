-- The exposures that the last looks found in a database: the portal shows everyone which of them were closed, and when.
create table found_exposure (
  database_id uuid not null references masked_database (id) on delete cascade,
  key text not null,
  exposure jsonb not null,
  found_at timestamptz not null default now(),
  closed_at timestamptz,
  primary key (database_id, key)
);
