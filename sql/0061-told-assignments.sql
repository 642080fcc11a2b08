-- Nodes ask for all tokens again when they are told. An assignment decides about tokens only where its client requires assignments, and
-- the requirement itself is told when it comes (`required_assignment_told`). A client that is removed with its assignments is told of as well.
create function tell_of_assignment() returns trigger language plpgsql set search_path to 'masquerade' as $$
declare
  changed app_role_assignment := coalesce(new, old);
begin
  -- Writers of assignments hold the lock of the client: this sees the requirement that was set before. A group that is purged gave none any more.
  perform pg_catalog.pg_notify('masquerade_revocations', '') from directory_object as client
  where client.tenant_id = changed.tenant_id and client.id = changed.resource_id
    and client.properties -> 'appRoleAssignmentRequired' = 'true';
  return null;
end $$;
create or replace trigger assignment_told after insert or delete on app_role_assignment
  for each row execute function tell_of_assignment();
