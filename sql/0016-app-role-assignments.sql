-- Roles of applications that users, groups and service principals hold. The permissions of the API itself are app roles
-- too: `application_permission` has those.

create table app_role_assignment (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  principal_id uuid not null,
  resource_id uuid not null,
  app_role_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint app_role_is_assigned_once unique (tenant_id, principal_id, resource_id, app_role_id),
  foreign key (tenant_id, principal_id) references directory_object (tenant_id, id) on delete cascade,
  foreign key (tenant_id, resource_id) references directory_object (tenant_id, id) on delete cascade
);

create index app_role_assignment_by_resource on app_role_assignment (tenant_id, resource_id, id);
