-- Imports of earlier versions changed `appRoles` of an application or service principal alone, and ended no assignment: a role that was
-- dropped stayed with the people who had it. The roles of the application count where it has any: one without roles may never
-- have had those of its service principal. Deleted applications count, as they come back with their service principals. Assignments
-- without a role stay, as no role was dropped. The audit has what ends. Triggers write the last two tables.
lock table directory_object, app_role_assignment, audit_event, revision_counter, change_log in exclusive mode;

-- Only where roles differ: a statement that changes no row still counts as one past the change log.
do $$ begin
  if exists (
    select from directory_object principal
    join directory_object application on application.tenant_id = principal.tenant_id and application.app_id = principal.app_id
    where principal.kind = 'servicePrincipal' and application.kind = 'application'
      and jsonb_path_exists(application.properties, '$.appRoles[*].id')
      and application.properties -> 'appRoles' is distinct from principal.properties -> 'appRoles'
  ) then
    update directory_object principal set version = principal.version + 1,
      properties = jsonb_set(principal.properties, '{appRoles}', application.properties -> 'appRoles')
    from directory_object application
    where application.tenant_id = principal.tenant_id and application.app_id = principal.app_id
      and principal.kind = 'servicePrincipal' and application.kind = 'application'
      and jsonb_path_exists(application.properties, '$.appRoles[*].id')
      and application.properties -> 'appRoles' is distinct from principal.properties -> 'appRoles';
  end if;
end $$;

-- The roles of a client are read once, not for each of its assignments.
with role as materialized (
  select resource.tenant_id, resource.id as resource_id, lower(listed.id #>> '{}') as id
  from directory_object resource, jsonb_path_query(resource.properties, '$.appRoles[*].id') as listed (id)
  where resource.id in (select resource_id from app_role_assignment)
), ended as (
  delete from app_role_assignment granted
  where granted.app_role_id <> '00000000-0000-0000-0000-000000000000'
    and not exists (
      select from role
      where (role.tenant_id, role.resource_id, role.id) = (granted.tenant_id, granted.resource_id, granted.app_role_id::text))
  returning granted.*
)
insert into audit_event (tenant_id, actor, action, target, before)
select ended.tenant_id, '{"kind": "operator", "objectId": "", "applicationId": ""}', 'revoke app role',
  '/' || principal.kind || 's/' || principal.id,
  jsonb_build_object('resourceId', ended.resource_id, 'appRoleId', ended.app_role_id)
from ended join directory_object principal on principal.tenant_id = ended.tenant_id and principal.id = ended.principal_id;

-- A later migration cannot change tables while triggers of these changes are due.
set constraints all immediate;
set constraints all deferred;
