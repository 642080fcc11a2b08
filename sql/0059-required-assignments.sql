-- A token of a person through a client that requires assignments stands while the person has one: all nodes hear when an assignment, a
-- membership or group on the way to one, or the requirement comes or goes.
create function leads_to_assignment(tenant uuid, groups uuid[]) returns boolean language plpgsql stable set search_path to 'masquerade' as $$
begin
  -- Most directories assign no role: their changes of members do not walk.
  if not exists (select from app_role_assignment) then return false; end if;
  return exists (
    with recursive around (id) as (
      select unnest(groups)
      union
      select edge.container_id from around cross join lateral (
        select container_id from member_edge where tenant_id = tenant and member_id = around.id offset 0
      ) as edge
    )
    select from around
    join app_role_assignment as granted on granted.tenant_id = tenant and granted.principal_id = around.id
    join directory_object as client on client.tenant_id = tenant and client.id = granted.resource_id
    where client.properties -> 'appRoleAssignmentRequired' = 'true');
end $$;

create function tell_of_members_with_assignment() returns trigger language plpgsql set search_path to 'masquerade' as $$
begin
  perform pg_catalog.pg_notify('masquerade_revocations', '')
  from (select tenant_id, array_agg(distinct container_id) as groups from changed group by tenant_id) as edge
  where leads_to_assignment(edge.tenant_id, edge.groups);
  return null;
end $$;
create trigger new_member_told after insert on member_edge
  referencing new table as changed for each statement execute function tell_of_members_with_assignment();
create trigger former_member_told after delete on member_edge
  referencing old table as changed for each statement execute function tell_of_members_with_assignment();

create function tell_of_group_with_assignment() returns trigger language plpgsql set search_path to 'masquerade' as $$
begin
  perform pg_catalog.pg_notify('masquerade_revocations', '') where leads_to_assignment(new.tenant_id, array[new.id]);
  return null;
end $$;
create trigger group_with_assignment_told after update of deleted_at on directory_object
  for each row when (old.kind = 'group' and new.deleted_at is distinct from old.deleted_at)
  execute function tell_of_group_with_assignment();

create trigger assignment_told after insert or delete on app_role_assignment
  for each row execute function tell_of_revocation();
create trigger required_assignment_told after update of properties on directory_object
  for each row when (old.kind = 'servicePrincipal'
    and old.properties -> 'appRoleAssignmentRequired' is distinct from new.properties -> 'appRoleAssignmentRequired')
  execute function tell_of_revocation();
