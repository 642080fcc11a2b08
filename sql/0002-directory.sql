-- The directory: objects, direct edges between them, what hangs on them. The tenant leads every key.

create table directory_object (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in
    ('user', 'group', 'servicePrincipal', 'application', 'orgContact', 'device', 'directoryRole', 'organization')),
  -- What the API shows, but for id, deletedDateTime, createdDateTime and secrets.
  properties jsonb not null check (jsonb_typeof(properties) = 'object'),
  created_at timestamptz not null default now(),
  -- Soft delete: users, groups and applications can be restored, their edges stay.
  deleted_at timestamptz,
  -- Grows with every change of the row; the entity tag.
  version bigint not null default 1,
  display_name text generated always as (properties ->> 'displayName') stored,
  user_principal_name text generated always as (properties ->> 'userPrincipalName') stored,
  mail_nickname text generated always as (properties ->> 'mailNickname') stored,
  app_id text generated always as (properties ->> 'appId') stored,
  security_enabled boolean not null generated always as
    (kind = 'group' and coalesce((properties -> 'securityEnabled')::boolean, false)) stored,
  unified boolean not null generated always as
    (kind = 'group' and coalesce(properties -> 'groupTypes', '[]') ? 'Unified') stored,
  primary key (tenant_id, id)
);
create index directory_object_by_kind on directory_object (tenant_id, kind, id) where deleted_at is null;
create index directory_object_by_display_name on directory_object
  (tenant_id, kind, (lower(coalesce(display_name, '')) collate "C"), id) where deleted_at is null;
create index directory_object_by_mail on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'mail', '')) collate "C"), id) where deleted_at is null;
create index directory_object_by_mail_nickname on directory_object
  (tenant_id, kind, (lower(coalesce(mail_nickname, '')) collate "C")) where deleted_at is null;
create index directory_object_by_principal_name on directory_object
  (tenant_id, kind, (lower(coalesce(user_principal_name, '')) collate "C"), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_words on directory_object
  using gin (to_tsvector('simple', coalesce(display_name, ''))) where deleted_at is null;
create index directory_object_by_creation on directory_object (tenant_id, kind, created_at, id)
  where deleted_at is null;
create index directory_object_by_deletion on directory_object (tenant_id, kind, id) where deleted_at is not null;
-- All that a walk through memberships asks of an object, small enough to stay in memory.
create index directory_object_as_container on directory_object (tenant_id, id) include (kind, security_enabled)
  where kind in ('group', 'directoryRole') and deleted_at is null;
create unique index user_principal_name_is_unique on directory_object (tenant_id, lower(user_principal_name))
  where kind = 'user' and deleted_at is null;
create unique index unified_mail_nickname_is_unique on directory_object (tenant_id, lower(mail_nickname))
  where unified and deleted_at is null;
create unique index application_app_id_is_unique on directory_object (tenant_id, app_id) where kind = 'application';
create unique index service_principal_app_id_is_unique on directory_object (tenant_id, app_id)
  where kind = 'servicePrincipal' and deleted_at is null;
create unique index device_id_is_unique on directory_object (tenant_id, (properties ->> 'deviceId'))
  where kind = 'device' and deleted_at is null;
create unique index role_template_is_unique on directory_object (tenant_id, (properties ->> 'roleTemplateId'))
  where kind = 'directoryRole' and deleted_at is null;

-- The tenant itself.
insert into directory_object (tenant_id, id, kind, properties)
  select tenant_id, tenant_id, 'organization', '{"displayName": "Masquerade"}' from instance;

-- Direct membership only: in a group, or in a directory role. Transitive membership is asked of the graph.
create table member_edge (
  tenant_id uuid not null,
  container_id uuid not null,
  member_id uuid not null,
  created_at timestamptz not null default now(),
  constraint member_edge_exists_already primary key (tenant_id, member_id, container_id),
  constraint member_edge_container foreign key (tenant_id, container_id)
    references directory_object (tenant_id, id) on delete cascade,
  constraint member_edge_member foreign key (tenant_id, member_id)
    references directory_object (tenant_id, id) on delete cascade
);
create index member_edge_by_container on member_edge (tenant_id, container_id, member_id);

-- Owners of groups, applications, service principals and devices.
create table owner_edge (
  tenant_id uuid not null,
  object_id uuid not null,
  owner_id uuid not null,
  created_at timestamptz not null default now(),
  constraint owner_edge_exists_already primary key (tenant_id, object_id, owner_id),
  foreign key (tenant_id, object_id) references directory_object (tenant_id, id) on delete cascade,
  foreign key (tenant_id, owner_id) references directory_object (tenant_id, id) on delete cascade
);
create index owner_edge_by_owner on owner_edge (tenant_id, owner_id);

-- What lives in a mailbox, a group or a task list: the containers of open extensions that are not directory objects.
create table item (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in
    ('message', 'mailFolder', 'event', 'calendar', 'calendarGroup', 'contact', 'contactFolder', 'todoTaskList',
     'todoTask', 'conversation', 'thread', 'post')),
  -- The user or group it belongs to.
  owner_id uuid not null,
  -- The folder, calendar, list, conversation or thread it lies in.
  parent_id uuid,
  properties jsonb not null check (jsonb_typeof(properties) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  version bigint not null default 1,
  primary key (tenant_id, id),
  foreign key (tenant_id, owner_id) references directory_object (tenant_id, id) on delete cascade,
  foreign key (tenant_id, parent_id) references item (tenant_id, id) on delete cascade
);
create index item_by_owner on item (tenant_id, owner_id, kind, id);
create index item_by_parent on item (tenant_id, parent_id, kind, id) where parent_id is not null;

-- An open extension hangs on a directory object or on an item, never on both.
create table open_extension (
  tenant_id uuid not null,
  object_id uuid,
  item_id uuid,
  name text not null check (length(name) between 1 and 120),
  -- The application that created it; the limits count by it.
  application_id text not null,
  properties jsonb not null check (jsonb_typeof(properties) = 'object'),
  created_at timestamptz not null default now(),
  check (num_nonnulls(object_id, item_id) = 1),
  foreign key (tenant_id, object_id) references directory_object (tenant_id, id) on delete cascade,
  foreign key (tenant_id, item_id) references item (tenant_id, id) on delete cascade
);
create unique index open_extension_name_on_object on open_extension (tenant_id, object_id, lower(name))
  where object_id is not null;
create unique index open_extension_name_on_item on open_extension (tenant_id, item_id, lower(name))
  where item_id is not null;

-- Definitions of directory-extension properties: extension_<appId without dashes>_<name>.
create table extension_property (
  tenant_id uuid not null,
  id uuid not null,
  application_id uuid not null,
  name text not null,
  data_type text not null,
  target_objects text[] not null,
  is_multi_valued boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint extension_property_name_is_unique unique (tenant_id, name),
  foreign key (tenant_id, application_id) references directory_object (tenant_id, id) on delete cascade
);

-- Definitions of schema extensions: <domain>_<name>.
create table schema_extension (
  tenant_id uuid not null,
  id text not null,
  description text,
  owner text not null,
  status text not null check (status in ('InDevelopment', 'Available', 'Deprecated')),
  target_types text[] not null,
  properties jsonb not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
