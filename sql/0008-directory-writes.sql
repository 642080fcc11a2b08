-- Every change of members or objects is in the change log, also one that was made past the service: nodes answer from
-- memory and learn of changes from the log alone. A transaction that logs its changes says so in a setting of its own
-- (`takeRevisions`). At the commit of one that did not, the log gets an entry that makes every node load anew.

create table directory_write (
  -- The transaction. A row is gone before its transaction commits.
  writer xid8 primary key
);

create function note_directory_write() returns trigger language plpgsql as $$
begin
  insert into masquerade.directory_write (writer) values (pg_catalog.pg_current_xact_id()) on conflict do nothing;
  return null;
end $$;

create function log_unlogged_write() returns trigger language plpgsql as $$
begin
  delete from masquerade.directory_write where writer = new.writer;
  if pg_catalog.current_setting('masquerade.logged', true) is distinct from 'on' then
    with counter as (
      insert into masquerade.revision_counter as counter (tenant_id, value)
        select tenant_id, 1 from masquerade.instance
      on conflict (tenant_id) do update set value = counter.value + 1
      returning tenant_id, value
    )
    insert into masquerade.change_log (tenant_id, revision, entity, entity_id, kind)
      select tenant_id, value, 'directory', tenant_id::text, 'rewritten' from counter;
  end if;
  return null;
end $$;

create constraint trigger unlogged_write after insert on directory_write
  deferrable initially deferred for each row execute function log_unlogged_write();

create trigger members_written after insert or update or delete on member_edge
  for each statement execute function note_directory_write();
create trigger objects_written after insert or update or delete on directory_object
  for each statement execute function note_directory_write();
