-- The places of databases that a binding ever logged in to. Rights at them and above them keep counting while the database
-- is bound elsewhere, not bound, or deleted: otherwise a writer of the database could make them vanish, take them, and bind
-- it again.
create table reached_place (
  tenant_id uuid not null,
  key text collate "C" not null, -- of masked_database, without a reference: the place outlives it
  primary key (tenant_id, key)
);
insert into reached_place (tenant_id, key)
  select tenant_id, key from masked_database where binding_reached_at is not null;

-- By a trigger, so that no way of reaching a database can forget it.
create function note_reached_place() returns trigger language plpgsql set search_path from current as $$
begin
  insert into reached_place (tenant_id, key) values (new.tenant_id, new.key) on conflict do nothing;
  return null;
end
$$;
create trigger database_reached after insert or update of binding_reached_at on masked_database
  for each row when (new.binding_reached_at is not null) execute function note_reached_place();
