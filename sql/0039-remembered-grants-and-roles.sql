-- The service keeps a copy of the records of grants in a masked database, in closed_relation: a superuser may drop them there.
-- `version` is that of the records when they were copied; `restored_at` is when the copy was last written back.
create table copied_record (
  database_id uuid primary key references masked_database (id) on delete cascade,
  place text not null,
  version text not null,
  restored_at timestamptz
);

-- The role that an entry of an exempt list named when it was first looked at; null: none. A role that takes the name later may
-- have been created by a masked role. `place` tells the database from others, because roles are recorded by OID.
create table exempt_role (
  database_id uuid not null references masked_database (id) on delete cascade,
  place text not null,
  entry text collate "C" not null,
  role_oid bigint,
  primary key (database_id, entry)
);
