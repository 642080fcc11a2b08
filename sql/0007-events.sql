-- What other nodes have to know at once. Whoever misses a notification finds the change a moment later by looking.

-- The masks of a database are as the policy says, perhaps others than before.
create function tell_of_masks() returns trigger language plpgsql as $$
begin
  perform pg_catalog.pg_notify('masquerade_masks', new.database_id::text);
  return null;
end $$;

create trigger masks_enforced after insert or update of enforced_at on enforcement_state
  for each row execute function tell_of_masks();

-- Who is in which group, or who is there at all, may have changed. Many statements of a transaction are one notification.
create function tell_of_directory() returns trigger language plpgsql as $$
begin
  perform pg_catalog.pg_notify('masquerade_directory', '');
  return null;
end $$;

create trigger members_changed after insert or update or delete on member_edge
  for each statement execute function tell_of_directory();
create trigger principals_changed after update or delete on directory_object
  for each statement execute function tell_of_directory();
