-- How many exposures and recommendations the last look of each day found in a database: the portal shows how they move.
create table counted_finding (
  database_id uuid not null references masked_database (id) on delete cascade,
  kind text not null check (kind in ('exposure', 'recommendation')),
  day date not null,
  count integer not null,
  primary key (database_id, kind, day)
);
