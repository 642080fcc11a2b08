-- Grants that were revoked in a masked database in which the role of the binding may not make its records. `place` tells the
-- database from others, because tables and roles are recorded by OID.
create table closed_relation (
  database_id uuid not null references masked_database (id) on delete cascade,
  place text not null,
  oid bigint not null,
  record jsonb not null,
  primary key (database_id, place, oid)
);
