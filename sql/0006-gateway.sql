-- Which database roles people and applications get when they log in through the gateway with a directory account.

create table role_mapping (
  database_id uuid not null references masked_database (id) on delete cascade,
  key text collate "C" not null, -- the name in lower case
  name text not null,
  database_role text collate "C" not null,
  -- A group, user or service principal. One that is deleted later maps nobody.
  principal_id uuid not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version bigint not null default nextval('resource_version'),
  primary key (database_id, key),
  constraint role_mapping_is_unique unique (database_id, database_role, principal_id)
);

create trigger mapping_changed after insert or update or delete on role_mapping
  for each row execute function note_policy_change();
