-- The manager of a user. A user has one at most.
create table manager_edge (
  tenant_id uuid not null,
  user_id uuid not null,
  manager_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references directory_object (tenant_id, id) on delete cascade,
  foreign key (tenant_id, manager_id) references directory_object (tenant_id, id) on delete cascade
);
create index manager_edge_by_manager on manager_edge (tenant_id, manager_id, user_id);
