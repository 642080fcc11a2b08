-- What the migrations add up to. Made by `npm run schema`; a test compares it with a migrated database.

create sequence resource_version as bigint start 1 increment 1 minvalue 1 maxvalue 9223372036854775807;

create table app_role_assignment (
  tenant_id uuid not null,
  id uuid default gen_random_uuid() not null,
  principal_id uuid not null,
  resource_id uuid not null,
  app_role_id uuid not null,
  created_at timestamp with time zone default now() not null,
  constraint app_role_assignment_pkey PRIMARY KEY (tenant_id, id),
  constraint app_role_is_assigned_once UNIQUE (tenant_id, principal_id, resource_id, app_role_id),
  constraint app_role_assignment_tenant_id_principal_id_fkey FOREIGN KEY (tenant_id, principal_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE,
  constraint app_role_assignment_tenant_id_resource_id_fkey FOREIGN KEY (tenant_id, resource_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table application_permission (
  tenant_id uuid not null,
  service_principal_id uuid not null,
  permission text not null,
  granted_at timestamp with time zone default now() not null,
  constraint application_permission_pkey PRIMARY KEY (tenant_id, service_principal_id, permission),
  constraint application_permission_tenant_id_service_principal_id_fkey FOREIGN KEY (tenant_id, service_principal_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table application_secret (
  tenant_id uuid not null,
  application_id uuid not null,
  key_id uuid not null,
  hash text not null,
  hint text not null,
  display_name text,
  starts_at timestamp with time zone default now() not null,
  ends_at timestamp with time zone not null,
  constraint application_secret_pkey PRIMARY KEY (tenant_id, application_id, key_id),
  constraint application_secret_tenant_id_application_id_fkey FOREIGN KEY (tenant_id, application_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table audit_event (
  id bigint default nextval('audit_event_id_seq'::regclass) not null,
  at timestamp with time zone default now() not null,
  tenant_id uuid not null,
  actor jsonb not null,
  action text not null,
  target text collate "C" not null,
  before jsonb,
  after jsonb,
  request_id text,
  constraint audit_event_pkey PRIMARY KEY (id, at)
) partition by RANGE (at);

create table change_log (
  tenant_id uuid not null,
  revision bigint not null,
  at timestamp with time zone default now() not null,
  entity text not null,
  entity_id text not null,
  kind text not null,
  data jsonb,
  constraint change_log_pkey PRIMARY KEY (tenant_id, revision, at)
) partition by RANGE (at);

create table change_subscription (
  tenant_id uuid not null,
  id uuid not null,
  resource text not null,
  kind text not null,
  object_id uuid,
  members_only boolean not null,
  change_types text[] not null,
  notification_url text not null,
  lifecycle_url text,
  client_state bytea,
  creator_id uuid not null,
  application_id text not null,
  created_at timestamp with time zone default now() not null,
  renewed_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  "position" bigint not null,
  attempts integer default 0 not null,
  next_attempt_at timestamp with time zone default now() not null,
  lease uuid,
  leased_until timestamp with time zone,
  namespace text default 'vendor.graph'::text not null,
  grounds jsonb,
  constraint change_subscription_pkey PRIMARY KEY (tenant_id, id)
);

create table containment_look (
  database_id uuid not null,
  not_contained integer not null,
  constraint containment_look_pkey PRIMARY KEY (database_id),
  constraint containment_look_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table counted_finding (
  database_id uuid not null,
  kind text not null,
  day date not null,
  count integer not null,
  constraint counted_finding_pkey PRIMARY KEY (database_id, kind, day),
  constraint counted_finding_kind_check CHECK ((kind = ANY (ARRAY['exposure'::text, 'recommendation'::text]))),
  constraint counted_finding_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table database_credential (
  tenant_id uuid not null,
  id uuid default gen_random_uuid() not null,
  principal_id uuid not null,
  name text collate "C" not null,
  verifier text not null,
  databases text[] default '{}'::text[] not null,
  created_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone not null,
  last_used_at timestamp with time zone,
  constraint database_credential_pkey PRIMARY KEY (tenant_id, id),
  constraint database_credential_is_unique UNIQUE (tenant_id, principal_id, name),
  constraint database_credential_tenant_id_principal_id_fkey FOREIGN KEY (tenant_id, principal_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table delegated_permission (
  tenant_id uuid not null,
  client_id uuid not null,
  user_id uuid,
  permission text not null,
  granted_at timestamp with time zone default now() not null,
  origins text[] default '{}'::text[] not null,
  constraint delegated_permission_tenant_id_client_id_fkey FOREIGN KEY (tenant_id, client_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE,
  constraint delegated_permission_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table directory_object (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  properties jsonb not null,
  created_at timestamp with time zone default now() not null,
  deleted_at timestamp with time zone,
  version bigint default 1 not null,
  display_name text generated always as ((properties ->> 'displayName'::text)) stored,
  user_principal_name text generated always as ((properties ->> 'userPrincipalName'::text)) stored,
  mail_nickname text generated always as ((properties ->> 'mailNickname'::text)) stored,
  app_id text generated always as ((properties ->> 'appId'::text)) stored,
  security_enabled boolean generated always as (((kind = 'group'::text) AND COALESCE(((properties -> 'securityEnabled'::text))::boolean, false))) stored not null,
  unified boolean generated always as (((kind = 'group'::text) AND (COALESCE((properties -> 'groupTypes'::text), '[]'::jsonb) ? 'Unified'::text))) stored not null,
  folded_principal_name text generated always as (lower(((properties ->> 'userPrincipalName'::text) COLLATE "C"))) stored,
  constraint directory_object_pkey PRIMARY KEY (tenant_id, id),
  constraint directory_object_kind_check CHECK ((kind = ANY (ARRAY['user'::text, 'group'::text, 'servicePrincipal'::text, 'application'::text, 'orgContact'::text, 'device'::text, 'directoryRole'::text, 'organization'::text]))),
  constraint directory_object_properties_check CHECK ((jsonb_typeof(properties) = 'object'::text))
);

create table directory_write (
  writer xid8 not null,
  constraint directory_write_pkey PRIMARY KEY (writer)
);

create table enforcement_state (
  database_id uuid not null,
  state text not null,
  reason text,
  notes jsonb default '[]'::jsonb not null,
  checked_at timestamp with time zone default now() not null,
  enforced_at timestamp with time zone,
  next_check_at timestamp with time zone default now() not null,
  failures integer default 0 not null,
  drift_repairs bigint default 0 not null,
  last_drift_at timestamp with time zone,
  since timestamp with time zone default now() not null,
  last_change bigint default 0 not null,
  constraint enforcement_state_pkey PRIMARY KEY (database_id),
  constraint enforcement_state_state_check CHECK ((state = ANY (ARRAY['Enforced'::text, 'Pending'::text, 'Failed'::text]))),
  constraint enforcement_state_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table exempt_role (
  database_id uuid not null,
  place text not null,
  entry text collate "C" not null,
  role_oid bigint,
  is_taken boolean default false not null,
  is_pinned boolean default false not null,
  constraint exempt_role_pkey PRIMARY KEY (database_id, entry),
  constraint exempt_role_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table extension_property (
  tenant_id uuid not null,
  id uuid not null,
  application_id uuid not null,
  name text not null,
  data_type text not null,
  target_objects text[] not null,
  is_multi_valued boolean default false not null,
  created_at timestamp with time zone default now() not null,
  constraint extension_property_pkey PRIMARY KEY (tenant_id, id),
  constraint extension_property_name_is_unique UNIQUE (tenant_id, name),
  constraint extension_property_tenant_id_application_id_fkey FOREIGN KEY (tenant_id, application_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table first_start (
  tenant_id uuid not null,
  administrator_id uuid not null,
  application_id uuid not null,
  service_principal_id uuid not null,
  at timestamp with time zone default now() not null,
  constraint first_start_pkey PRIMARY KEY (tenant_id)
);

create table found_exposure (
  database_id uuid not null,
  key text not null,
  exposure jsonb not null,
  found_at timestamp with time zone default now() not null,
  closed_at timestamp with time zone,
  constraint found_exposure_pkey PRIMARY KEY (database_id, key),
  constraint found_exposure_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table gateway_name (
  tenant_id uuid not null,
  name text collate "C" not null,
  key text collate "C",
  claimed_at timestamp with time zone default now() not null,
  constraint gateway_name_pkey PRIMARY KEY (tenant_id, name)
);

create table instance (
  singleton boolean default true not null,
  id uuid default gen_random_uuid() not null,
  tenant_id uuid default gen_random_uuid() not null,
  created_at timestamp with time zone default now() not null,
  sampled_at timestamp with time zone,
  restored_at timestamp with time zone,
  sealing_key text,
  sealing_since timestamp with time zone,
  constraint instance_pkey PRIMARY KEY (singleton),
  constraint instance_is_single CHECK (singleton)
);

create table item (
  tenant_id uuid not null,
  id uuid not null,
  kind text not null,
  owner_id uuid not null,
  parent_id uuid,
  properties jsonb not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  version bigint default 1 not null,
  constraint item_pkey PRIMARY KEY (tenant_id, id),
  constraint item_kind_check CHECK ((kind = ANY (ARRAY['message'::text, 'mailFolder'::text, 'event'::text, 'calendar'::text, 'calendarGroup'::text, 'contact'::text, 'contactFolder'::text, 'todoTaskList'::text, 'todoTask'::text, 'conversation'::text, 'thread'::text, 'post'::text]))),
  constraint item_properties_check CHECK ((jsonb_typeof(properties) = 'object'::text)),
  constraint item_tenant_id_owner_id_fkey FOREIGN KEY (tenant_id, owner_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE,
  constraint item_tenant_id_parent_id_fkey FOREIGN KEY (tenant_id, parent_id) REFERENCES item(tenant_id, id) ON DELETE CASCADE
);

create table manager_edge (
  tenant_id uuid not null,
  user_id uuid not null,
  manager_id uuid not null,
  created_at timestamp with time zone default now() not null,
  constraint manager_edge_pkey PRIMARY KEY (tenant_id, user_id),
  constraint manager_edge_tenant_id_manager_id_fkey FOREIGN KEY (tenant_id, manager_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE,
  constraint manager_edge_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table masked_database (
  id uuid not null,
  tenant_id uuid not null,
  key text collate "C" not null,
  subscription_id text not null,
  resource_group text not null,
  server_name text not null,
  name text not null,
  declared boolean default false not null,
  location text not null,
  tags jsonb default '{}'::jsonb not null,
  binding jsonb,
  binding_secret bytea,
  binding_version bigint default 0 not null,
  policy_state text default 'Disabled'::text not null,
  policy_state_chosen boolean default false not null,
  exempt_principals text default ''::text not null,
  policy_version bigint default 0 not null,
  created_at timestamp with time zone default now() not null,
  version bigint default nextval('resource_version'::regclass) not null,
  policy_mode text default 'Enforce'::text not null,
  binding_reached_at timestamp with time zone,
  binding_system text,
  not_contained text default 'report'::text not null,
  constraint masked_database_pkey PRIMARY KEY (id),
  constraint masked_database_is_unique UNIQUE (tenant_id, key),
  constraint masked_database_not_contained_check CHECK ((not_contained = ANY (ARRAY['report'::text, 'refuse'::text]))),
  constraint masked_database_policy_mode_check CHECK ((policy_mode = ANY (ARRAY['Enforce'::text, 'Observe'::text]))),
  constraint masked_database_policy_state_check CHECK ((policy_state = ANY (ARRAY['Enabled'::text, 'Disabled'::text]))),
  constraint masked_database_reached_is_bound CHECK (((binding IS NOT NULL) OR (binding_reached_at IS NULL)))
);

create table masked_place (
  database_id uuid not null,
  place text not null,
  constraint masked_place_pkey PRIMARY KEY (database_id),
  constraint masked_place_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table masking_rule (
  database_id uuid not null,
  key text collate "C" not null,
  name text not null,
  schema_name text collate "C" not null,
  table_name text collate "C" not null,
  column_name text collate "C" not null,
  masking_function text not null,
  alias_name text,
  number_from text,
  number_to text,
  prefix_size text,
  suffix_size text,
  replacement_string text,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  version bigint default nextval('resource_version'::regclass) not null,
  constraint masking_rule_pkey PRIMARY KEY (database_id, key),
  constraint masking_rule_column_has_one_rule UNIQUE (database_id, schema_name, table_name, column_name),
  constraint masking_rule_masking_function_check CHECK ((masking_function = ANY (ARRAY['CCN'::text, 'Default'::text, 'Email'::text, 'Number'::text, 'SSN'::text, 'Text'::text]))),
  constraint masking_rule_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table masquerade_migration (
  number integer not null,
  name text not null,
  checksum text not null,
  applied_at timestamp with time zone default now() not null,
  constraint masquerade_migration_pkey PRIMARY KEY (number)
);

create table member_edge (
  tenant_id uuid not null,
  container_id uuid not null,
  member_id uuid not null,
  created_at timestamp with time zone default now() not null,
  constraint member_edge_exists_already PRIMARY KEY (tenant_id, member_id, container_id),
  constraint member_edge_container FOREIGN KEY (tenant_id, container_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE,
  constraint member_edge_member FOREIGN KEY (tenant_id, member_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table node (
  id uuid not null,
  host_name text not null,
  version text not null,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone default now() not null,
  gateway_sessions integer not null,
  secret_keys text[] default '{}'::text[] not null,
  seals_with text default ''::text not null,
  constraint node_pkey PRIMARY KEY (id)
);

create table oidc_state (
  model text not null,
  id text not null,
  payload jsonb not null,
  grant_id text,
  user_code text,
  uid text,
  consumed_at timestamp with time zone,
  expires_at timestamp with time zone,
  constraint oidc_state_pkey PRIMARY KEY (model, id)
);

create table open_extension (
  tenant_id uuid not null,
  object_id uuid,
  item_id uuid,
  name text not null,
  application_id text not null,
  properties jsonb not null,
  created_at timestamp with time zone default now() not null,
  constraint open_extension_check CHECK ((num_nonnulls(object_id, item_id) = 1)),
  constraint open_extension_name_check CHECK (((length(name) >= 1) AND (length(name) <= 120))),
  constraint open_extension_properties_check CHECK ((jsonb_typeof(properties) = 'object'::text)),
  constraint open_extension_tenant_id_item_id_fkey FOREIGN KEY (tenant_id, item_id) REFERENCES item(tenant_id, id) ON DELETE CASCADE,
  constraint open_extension_tenant_id_object_id_fkey FOREIGN KEY (tenant_id, object_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table owner_edge (
  tenant_id uuid not null,
  object_id uuid not null,
  owner_id uuid not null,
  created_at timestamp with time zone default now() not null,
  constraint owner_edge_exists_already PRIMARY KEY (tenant_id, object_id, owner_id),
  constraint owner_edge_tenant_id_object_id_fkey FOREIGN KEY (tenant_id, object_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE,
  constraint owner_edge_tenant_id_owner_id_fkey FOREIGN KEY (tenant_id, owner_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table purged_client (
  tenant_id uuid not null,
  app_id text not null,
  constraint purged_client_pkey PRIMARY KEY (tenant_id, app_id)
);

create table reached_place (
  tenant_id uuid not null,
  key text collate "C" not null,
  constraint reached_place_pkey PRIMARY KEY (tenant_id, key)
);

create unlogged table request_allowance (
  caller text not null,
  second bigint not null,
  taken integer not null,
  constraint request_allowance_pkey PRIMARY KEY (caller)
);

create table revision_counter (
  tenant_id uuid not null,
  value bigint not null,
  constraint revision_counter_pkey PRIMARY KEY (tenant_id),
  constraint revision_counter_is_not_negative CHECK ((value >= 0))
);

create table role_assignment (
  id uuid not null,
  tenant_id uuid not null,
  scope text not null,
  shown_scope text not null,
  role text not null,
  principal_id uuid not null,
  created_at timestamp with time zone default now() not null,
  created_by uuid,
  by_root_owner boolean default false not null,
  constraint role_assignment_pkey PRIMARY KEY (id),
  constraint role_assignment_exists_already UNIQUE (tenant_id, scope, role, principal_id),
  constraint role_assignment_principal FOREIGN KEY (tenant_id, principal_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

create table role_mapping (
  database_id uuid not null,
  key text collate "C" not null,
  name text not null,
  database_role text collate "C" not null,
  principal_id uuid not null,
  created_at timestamp with time zone default now() not null,
  updated_at timestamp with time zone default now() not null,
  version bigint default nextval('resource_version'::regclass) not null,
  constraint role_mapping_pkey PRIMARY KEY (database_id, key),
  constraint role_mapping_is_unique UNIQUE (database_id, database_role, principal_id),
  constraint role_mapping_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table schema_extension (
  tenant_id uuid not null,
  id text not null,
  description text,
  owner text not null,
  status text not null,
  target_types text[] not null,
  properties jsonb not null,
  created_at timestamp with time zone default now() not null,
  constraint schema_extension_pkey PRIMARY KEY (tenant_id, id),
  constraint schema_extension_status_check CHECK ((status = ANY (ARRAY['InDevelopment'::text, 'Available'::text, 'Deprecated'::text])))
);

create table server (
  tenant_id uuid not null,
  key text collate "C" not null,
  subscription_id text not null,
  resource_group text not null,
  name text not null,
  location text not null,
  tags jsonb default '{}'::jsonb not null,
  created_at timestamp with time zone default now() not null,
  version bigint default nextval('resource_version'::regclass) not null,
  constraint server_pkey PRIMARY KEY (tenant_id, key)
);

create table shut_out_client (
  tenant_id uuid not null,
  app_id text not null,
  times bigint not null,
  constraint shut_out_client_pkey PRIMARY KEY (tenant_id, app_id)
);

create table sign_in (
  tenant_id uuid not null,
  id uuid default gen_random_uuid() not null,
  window_start timestamp with time zone not null,
  digest text not null,
  created_at timestamp with time zone not null,
  last_at timestamp with time zone not null,
  attempts bigint not null,
  user_principal_name text,
  user_id text,
  app_id text,
  properties jsonb not null,
  constraint sign_in_pkey PRIMARY KEY (tenant_id, id),
  constraint sign_in_tenant_id_window_start_digest_key UNIQUE (tenant_id, window_start, digest)
);

create table sign_in_attempt (
  subject text not null,
  failures integer not null,
  last_failure_at timestamp with time zone not null,
  blocked_until timestamp with time zone,
  constraint sign_in_attempt_pkey PRIMARY KEY (subject)
);

create table signing_key (
  kid text not null,
  algorithm text not null,
  public_jwk jsonb not null,
  private_key bytea not null,
  created_at timestamp with time zone default now() not null,
  active_from timestamp with time zone not null,
  expires_at timestamp with time zone,
  constraint signing_key_pkey PRIMARY KEY (kid)
);

create table suspension (
  database_id uuid not null,
  schema_name text not null,
  table_name text not null,
  created_at timestamp with time zone default now() not null,
  constraint suspension_pkey PRIMARY KEY (database_id, schema_name, table_name),
  constraint suspension_database_id_fkey FOREIGN KEY (database_id) REFERENCES masked_database(id) ON DELETE CASCADE
);

create table token_cutoff (
  tenant_id uuid not null,
  principal_id uuid not null,
  client_id uuid default '00000000-0000-0000-0000-000000000000'::uuid not null,
  valid_from timestamp with time zone not null,
  constraint token_cutoff_pkey PRIMARY KEY (tenant_id, principal_id, client_id)
);

create table user_password (
  tenant_id uuid not null,
  user_id uuid not null,
  hash text not null,
  must_change boolean default false not null,
  changed_at timestamp with time zone default now() not null,
  expires_at timestamp with time zone,
  constraint user_password_pkey PRIMARY KEY (tenant_id, user_id),
  constraint user_password_tenant_id_user_id_fkey FOREIGN KEY (tenant_id, user_id) REFERENCES directory_object(tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX app_role_assignment_by_resource ON app_role_assignment USING btree (tenant_id, resource_id, id);
CREATE UNIQUE INDEX application_app_id_is_unique ON directory_object USING btree (tenant_id, app_id) WHERE (kind = 'application'::text);
CREATE INDEX audit_event_by_action ON audit_event USING btree (tenant_id, action, at, id);
CREATE INDEX audit_event_by_actor ON audit_event USING btree (tenant_id, ((actor ->> 'objectId'::text)), at, id);
CREATE INDEX audit_event_by_target ON audit_event USING btree (tenant_id, target, at, id);
CREATE INDEX audit_event_by_time ON audit_event USING btree (tenant_id, at, id);
CREATE INDEX audit_event_of_directory ON audit_event USING btree (tenant_id, at, id) WHERE (action !~~ '%/%'::text);
CREATE INDEX change_subscription_by_creator ON change_subscription USING btree (tenant_id, application_id, creator_id);
CREATE INDEX delegated_permission_by_administrator ON delegated_permission USING btree (tenant_id, client_id) WHERE ((user_id IS NOT NULL) AND (permission <> ALL ('{openid,profile,email,offline_access,Calendars.Read,Calendars.ReadWrite,Contacts.Read,Contacts.ReadWrite,Mail.Read,Mail.ReadBasic,Mail.ReadWrite,Tasks.Read,Tasks.ReadWrite,User.Read,User.ReadBasic.All,User.ReadWrite}'::text[])));
CREATE UNIQUE INDEX delegated_permission_for_all ON delegated_permission USING btree (tenant_id, client_id, permission) WHERE (user_id IS NULL);
CREATE UNIQUE INDEX delegated_permission_for_user ON delegated_permission USING btree (tenant_id, client_id, user_id, permission) WHERE (user_id IS NOT NULL);
CREATE UNIQUE INDEX device_id_is_unique ON directory_object USING btree (tenant_id, ((properties ->> 'deviceId'::text))) WHERE ((kind = 'device'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_as_container ON directory_object USING btree (tenant_id, id) INCLUDE (kind, security_enabled) WHERE ((kind = ANY (ARRAY['group'::text, 'directoryRole'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_account_enabled ON directory_object USING btree (tenant_id, kind, (((properties ->> 'accountEnabled'::text))::boolean), id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_city ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'city'::text), ''::text)) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_company_name ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'companyName'::text), ''::text)) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['user'::text, 'orgContact'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_country ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'country'::text), ''::text)) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_creation ON directory_object USING btree (tenant_id, kind, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX directory_object_by_deletion ON directory_object USING btree (tenant_id, kind, id) WHERE (deleted_at IS NOT NULL);
CREATE INDEX directory_object_by_department ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'department'::text), ''::text)) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['user'::text, 'orgContact'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_display_name ON directory_object USING btree (tenant_id, kind, lower(COALESCE(display_name, ''::text)) COLLATE "C", id) WHERE (deleted_at IS NULL);
CREATE INDEX directory_object_by_employee_id ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'employeeId'::text), ''::text)) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_given_name ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'givenName'::text), ''::text)) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['user'::text, 'orgContact'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_immutable_id ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'onPremisesImmutableId'::text), ''::text)) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_job_title ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'jobTitle'::text), ''::text)) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['user'::text, 'orgContact'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_kind ON directory_object USING btree (tenant_id, kind, id) WHERE (deleted_at IS NULL);
CREATE INDEX directory_object_by_mail ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'mail'::text), ''::text)) COLLATE "C", id) WHERE (deleted_at IS NULL);
CREATE INDEX directory_object_by_mail_end ON directory_object USING btree (tenant_id, kind, reverse(lower(COALESCE((properties ->> 'mail'::text), ''::text))) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['user'::text, 'group'::text, 'orgContact'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_mail_nickname ON directory_object USING btree (tenant_id, kind, lower(COALESCE(mail_nickname, ''::text)) COLLATE "C", id) WHERE (deleted_at IS NULL);
CREATE INDEX directory_object_by_other_mail ON directory_object USING gin (((lower((COALESCE((properties -> 'otherMails'::text), '[]'::jsonb))::text))::jsonb) jsonb_path_ops) WHERE ((deleted_at IS NULL) AND (properties ? 'otherMails'::text));
CREATE INDEX directory_object_by_principal_name ON directory_object USING btree (tenant_id, kind, lower(COALESCE(user_principal_name, ''::text)) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_principal_name_end ON directory_object USING btree (tenant_id, kind, reverse(lower(COALESCE(user_principal_name, ''::text))) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_proxy_address ON directory_object USING gin (((lower((COALESCE((properties -> 'proxyAddresses'::text), '[]'::jsonb))::text))::jsonb) jsonb_path_ops) WHERE ((deleted_at IS NULL) AND (properties ? 'proxyAddresses'::text));
CREATE INDEX directory_object_by_surname ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'surname'::text), ''::text)) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['user'::text, 'orgContact'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_unique_name ON directory_object USING btree (tenant_id, kind, lower(COALESCE((properties ->> 'uniqueName'::text), ''::text)) COLLATE "C", id) WHERE ((kind = ANY (ARRAY['group'::text, 'application'::text])) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_user_type ON directory_object USING btree (tenant_id, kind, lower(COALESCE(COALESCE((properties ->> 'userType'::text), 'Member'::text), ''::text)) COLLATE "C", id) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));
CREATE INDEX directory_object_by_words ON directory_object USING gin (to_tsvector('simple'::regconfig, COALESCE(display_name, ''::text))) WHERE (deleted_at IS NULL);
CREATE INDEX enforcement_state_by_next_check ON enforcement_state USING btree (next_check_at);
CREATE INDEX gateway_name_by_key ON gateway_name USING btree (tenant_id, key);
CREATE INDEX item_by_owner ON item USING btree (tenant_id, owner_id, kind, id);
CREATE INDEX item_by_parent ON item USING btree (tenant_id, parent_id, kind, id) WHERE (parent_id IS NOT NULL);
CREATE INDEX manager_edge_by_manager ON manager_edge USING btree (tenant_id, manager_id, user_id);
CREATE INDEX member_edge_by_container ON member_edge USING btree (tenant_id, container_id, member_id);
CREATE INDEX oidc_state_by_expiry ON oidc_state USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX oidc_state_by_grant ON oidc_state USING btree (grant_id) WHERE (grant_id IS NOT NULL);
CREATE INDEX oidc_state_by_uid ON oidc_state USING btree (uid) WHERE (uid IS NOT NULL);
CREATE INDEX oidc_state_by_user_code ON oidc_state USING btree (user_code) WHERE (user_code IS NOT NULL);
CREATE UNIQUE INDEX open_extension_name_on_item ON open_extension USING btree (tenant_id, item_id, lower(name)) WHERE (item_id IS NOT NULL);
CREATE UNIQUE INDEX open_extension_name_on_object ON open_extension USING btree (tenant_id, object_id, lower(name)) WHERE (object_id IS NOT NULL);
CREATE INDEX owner_edge_by_owner ON owner_edge USING btree (tenant_id, owner_id);
CREATE INDEX role_assignment_by_principal ON role_assignment USING btree (tenant_id, principal_id);
CREATE UNIQUE INDEX role_template_is_unique ON directory_object USING btree (tenant_id, ((properties ->> 'roleTemplateId'::text))) WHERE ((kind = 'directoryRole'::text) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX service_principal_app_id_is_unique ON directory_object USING btree (tenant_id, app_id) WHERE ((kind = 'servicePrincipal'::text) AND (deleted_at IS NULL));
CREATE INDEX service_principal_by_app_id ON directory_object USING btree (tenant_id, app_id) WHERE (kind = 'servicePrincipal'::text);
CREATE INDEX sign_in_by_app ON sign_in USING btree (tenant_id, app_id, created_at, id);
CREATE INDEX sign_in_by_principal_name ON sign_in USING btree (tenant_id, lower(COALESCE(user_principal_name, ''::text)) COLLATE "C", created_at, id);
CREATE INDEX sign_in_by_time ON sign_in USING btree (tenant_id, created_at, id);
CREATE INDEX sign_in_by_user ON sign_in USING btree (tenant_id, user_id, created_at, id);
CREATE UNIQUE INDEX unified_mail_nickname_is_unique ON directory_object USING btree (tenant_id, lower(mail_nickname)) WHERE (unified AND (deleted_at IS NULL));
CREATE UNIQUE INDEX user_principal_name_is_unique ON directory_object USING btree (tenant_id, folded_principal_name) WHERE ((kind = 'user'::text) AND (deleted_at IS NULL));

CREATE OR REPLACE FUNCTION masquerade.count_shut_out()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  insert into shut_out_client (tenant_id, app_id, times) values (old.tenant_id, old.app_id, 1)
  on conflict (tenant_id, app_id) do update set times = shut_out_client.times + 1;
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.end_credentials()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  delete from database_credential where tenant_id = old.tenant_id and principal_id = old.user_id;
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.end_credentials_of_application()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  delete from database_credential c using directory_object application, directory_object principal
  where application.tenant_id = old.tenant_id and application.id = old.application_id
    and principal.tenant_id = old.tenant_id and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
    and c.tenant_id = old.tenant_id and c.principal_id = principal.id;
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.end_credentials_of_certificate()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  delete from database_credential c using directory_object principal
  where principal.tenant_id = old.tenant_id and principal.kind = 'servicePrincipal' and principal.app_id = old.app_id
    and c.tenant_id = old.tenant_id and c.principal_id = principal.id
    and exists (
      select from jsonb_array_elements(coalesce(nullif(old.properties -> 'keyCredentials', 'null'), '[]')) gone
      where not exists (
        select from jsonb_array_elements(coalesce(nullif(new.properties -> 'keyCredentials', 'null'), '[]')) kept
        where kept ->> 'keyId' = gone ->> 'keyId' and kept ->> 'key' = gone ->> 'key'));
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.end_tokens()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second')
  where tenant_id = new.tenant_id and user_id = new.id;
  delete from database_credential where tenant_id = new.tenant_id and principal_id = new.id;
  insert into token_cutoff (tenant_id, principal_id, valid_from) values (new.tenant_id, new.id, clock_timestamp())
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp());
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.keep_purged_client()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  insert into purged_client (tenant_id, app_id) values (old.tenant_id, old.app_id) on conflict do nothing;
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.leads_to_assignment(tenant uuid, groups uuid[])
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
 SET search_path TO 'masquerade'
AS $function$
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
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.log_changes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changes jsonb := nullif(pg_catalog.current_setting('masquerade.changes', true), '')::jsonb;
begin
  delete from masquerade.directory_write where writer = new.writer;
  if changes is null and pg_catalog.current_setting('masquerade.logged', true) is distinct from 'on' then
    -- Written past the service: every node has to load anew.
    select pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object(
        'tenantId', tenant_id, 'entity', 'directory', 'entityId', tenant_id, 'kind', 'rewritten'))
      into changes from masquerade.instance;
  end if;
  with change as (
    select (entry ->> 'tenantId')::uuid as tenant_id, entry, at
    from pg_catalog.jsonb_array_elements(changes) with ordinality as changed (entry, at)
  ), counter as (
    insert into masquerade.revision_counter as counter (tenant_id, value)
      select tenant_id, pg_catalog.count(*) from change group by tenant_id order by tenant_id
    on conflict (tenant_id) do update set value = counter.value + excluded.value
    returning tenant_id, value
  )
  insert into masquerade.change_log (tenant_id, revision, entity, entity_id, kind, data)
    select change.tenant_id,
      counter.value - pg_catalog.count(*) over tenant + pg_catalog.row_number() over (tenant order by at),
      entry ->> 'entity', entry ->> 'entityId', entry ->> 'kind', entry -> 'data'
    from change join counter on counter.tenant_id = change.tenant_id
    window tenant as (partition by change.tenant_id);
  perform pg_catalog.set_config('masquerade.changes', '', true), pg_catalog.set_config('masquerade.logged', 'on', true);
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.note_directory_write()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  insert into masquerade.directory_write (writer) values (pg_catalog.pg_current_xact_id()) on conflict do nothing;
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.note_policy_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  changed uuid := case tg_table_name
    when 'masked_database' then (to_jsonb(new) ->> 'id')::uuid
    else (coalesce(to_jsonb(new), to_jsonb(old)) ->> 'database_id')::uuid end;
begin
  update masquerade.enforcement_state
  set since = case when state = 'Pending' then since else now() end, state = 'Pending',
    last_change = nextval('masquerade.resource_version'),
    reason = 'A change has not been enforced yet.', next_check_at = now() + interval '5 seconds'
  where database_id = changed;
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.note_reached_place()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  insert into reached_place (tenant_id, key) values (new.tenant_id, new.key) on conflict do nothing;
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.tell_of_assignment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
declare
  changed app_role_assignment := coalesce(new, old);
begin
  -- Writers of assignments hold the lock of the client: this sees the requirement that was set before. A group that is purged gave none any more.
  perform pg_catalog.pg_notify('masquerade_revocations', '') from directory_object as client
  where client.tenant_id = changed.tenant_id and client.id = changed.resource_id
    and client.properties -> 'appRoleAssignmentRequired' = 'true';
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.tell_of_directory()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_catalog.pg_notify('masquerade_directory', '');
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.tell_of_group_with_assignment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  perform pg_catalog.pg_notify('masquerade_revocations', '') where leads_to_assignment(new.tenant_id, array[new.id]);
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.tell_of_masks()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_catalog.pg_notify('masquerade_masks', new.database_id::text);
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.tell_of_members_with_assignment()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  perform pg_catalog.pg_notify('masquerade_revocations', '')
  from (select tenant_id, array_agg(distinct container_id) as groups from changed group by tenant_id) as edge
  where leads_to_assignment(edge.tenant_id, edge.groups);
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.tell_of_revocation()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  perform pg_catalog.pg_notify('masquerade_revocations', '');
  return null;
end $function$
;
CREATE OR REPLACE FUNCTION masquerade.void_tokens()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
declare
  gone jsonb := to_jsonb(old);
  principal uuid := gone ->> tg_argv[0];
  client uuid := case when tg_nargs > 1 then gone ->> tg_argv[1] end;
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
  values (old.tenant_id, coalesce(principal, client), case when principal is null then nobody else coalesce(client, nobody) end,
    clock_timestamp())
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp());
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.void_tokens_before_first_password()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  perform void_tokens_of_people(new.tenant_id, array[new.user_id])
  from directory_object where tenant_id = new.tenant_id and id = new.user_id and created_at < now();
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.void_tokens_of_former_members()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  perform void_tokens_of_people(edge.tenant_id, array_agg(edge.member_id))
  from gone edge
  join directory_object container on container.tenant_id = edge.tenant_id and container.id = edge.container_id
  where container.kind = 'directoryRole' or container.properties -> 'isAssignableToRole' = 'true'
  group by edge.tenant_id;
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.void_tokens_of_members()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'masquerade'
AS $function$
begin
  perform void_tokens_of_people(new.tenant_id, array[new.id]);
  return null;
end
$function$
;
CREATE OR REPLACE FUNCTION masquerade.void_tokens_of_people(tenant uuid, holders uuid[])
 RETURNS void
 LANGUAGE sql
 SET search_path TO 'masquerade'
AS $function$
  insert into token_cutoff (tenant_id, principal_id, valid_from)
  select tenant, id, clock_timestamp() from directory_object
  where tenant_id = tenant and kind = 'user' and (id = any(holders)
    or id in (select member_id from member_edge where tenant_id = tenant and container_id = any(holders)))
  order by id
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp())
$function$
;

CREATE TRIGGER assignment_told AFTER INSERT OR DELETE ON masquerade.app_role_assignment FOR EACH ROW EXECUTE FUNCTION tell_of_assignment();
CREATE TRIGGER application_permission_voids_tokens AFTER DELETE ON masquerade.application_permission FOR EACH ROW EXECUTE FUNCTION void_tokens('service_principal_id');
CREATE TRIGGER application_secret_ends_credentials AFTER DELETE ON masquerade.application_secret FOR EACH ROW EXECUTE FUNCTION end_credentials_of_application();
CREATE TRIGGER removed_secret_told AFTER DELETE ON masquerade.application_secret FOR EACH ROW EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER delegated_permission_voids_tokens AFTER DELETE ON masquerade.delegated_permission FOR EACH ROW EXECUTE FUNCTION void_tokens('user_id', 'client_id');
CREATE TRIGGER certificate_ends_credentials AFTER UPDATE OF properties ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = 'application'::text) AND ((old.properties -> 'keyCredentials'::text) IS DISTINCT FROM (new.properties -> 'keyCredentials'::text)))) EXECUTE FUNCTION end_credentials_of_certificate();
CREATE TRIGGER group_with_assignment_told AFTER UPDATE OF deleted_at ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = 'group'::text) AND (new.deleted_at IS DISTINCT FROM old.deleted_at))) EXECUTE FUNCTION tell_of_group_with_assignment();
CREATE TRIGGER objects_written AFTER INSERT OR DELETE OR UPDATE ON masquerade.directory_object FOR EACH STATEMENT EXECUTE FUNCTION note_directory_write();
CREATE TRIGGER principals_changed AFTER DELETE OR UPDATE ON masquerade.directory_object FOR EACH STATEMENT EXECUTE FUNCTION tell_of_directory();
CREATE TRIGGER purged_client_counted AFTER DELETE ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = ANY (ARRAY['application'::text, 'servicePrincipal'::text])) AND (old.app_id IS NOT NULL) AND (old.deleted_at IS NULL))) EXECUTE FUNCTION count_shut_out();
CREATE TRIGGER purged_client_kept AFTER DELETE ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = ANY (ARRAY['application'::text, 'servicePrincipal'::text])) AND (old.app_id IS NOT NULL))) EXECUTE FUNCTION keep_purged_client();
CREATE TRIGGER purged_principal_told AFTER DELETE ON masquerade.directory_object FOR EACH ROW WHEN ((old.kind = ANY (ARRAY['user'::text, 'servicePrincipal'::text, 'application'::text]))) EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER removed_address_told AFTER UPDATE OF properties ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = 'application'::text) AND (((old.properties -> 'web'::text) IS DISTINCT FROM (new.properties -> 'web'::text)) OR ((old.properties -> 'spa'::text) IS DISTINCT FROM (new.properties -> 'spa'::text)) OR ((old.properties -> 'publicClient'::text) IS DISTINCT FROM (new.properties -> 'publicClient'::text)) OR ((old.properties -> 'isFallbackPublicClient'::text) IS DISTINCT FROM (new.properties -> 'isFallbackPublicClient'::text))))) EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER removed_certificate_told AFTER UPDATE OF properties ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = 'application'::text) AND (jsonb_typeof((old.properties -> 'keyCredentials'::text)) = 'array'::text) AND ((old.properties -> 'keyCredentials'::text) IS DISTINCT FROM (new.properties -> 'keyCredentials'::text)))) EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER required_assignment_told AFTER UPDATE OF properties ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = 'servicePrincipal'::text) AND ((old.properties -> 'appRoleAssignmentRequired'::text) IS DISTINCT FROM (new.properties -> 'appRoleAssignmentRequired'::text)))) EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER role_assignable_group_voids_tokens AFTER UPDATE OF deleted_at ON masquerade.directory_object FOR EACH ROW WHEN (((new.kind = 'group'::text) AND (new.deleted_at IS NOT NULL) AND (old.deleted_at IS NULL) AND ((new.properties -> 'isAssignableToRole'::text) = 'true'::jsonb))) EXECUTE FUNCTION void_tokens_of_members();
CREATE TRIGGER shut_out_client_counted AFTER UPDATE OF properties, deleted_at ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = ANY (ARRAY['application'::text, 'servicePrincipal'::text])) AND (old.app_id IS NOT NULL) AND (((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL)) OR (((old.properties -> 'accountEnabled'::text) IS DISTINCT FROM 'false'::jsonb) AND ((new.properties -> 'accountEnabled'::text) = 'false'::jsonb))))) EXECUTE FUNCTION count_shut_out();
CREATE TRIGGER shut_out_principal_ends_tokens AFTER UPDATE OF properties, deleted_at ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = ANY (ARRAY['user'::text, 'servicePrincipal'::text])) AND (((old.deleted_at IS NULL) AND (new.deleted_at IS NOT NULL)) OR (((old.properties -> 'accountEnabled'::text) IS DISTINCT FROM 'false'::jsonb) AND ((new.properties -> 'accountEnabled'::text) = 'false'::jsonb))))) EXECUTE FUNCTION end_tokens();
CREATE TRIGGER shut_out_principal_told AFTER UPDATE ON masquerade.directory_object FOR EACH ROW WHEN (((old.kind = ANY (ARRAY['user'::text, 'servicePrincipal'::text, 'application'::text])) AND ((new.deleted_at IS DISTINCT FROM old.deleted_at) OR ((new.properties -> 'accountEnabled'::text) IS DISTINCT FROM (old.properties -> 'accountEnabled'::text))))) EXECUTE FUNCTION tell_of_revocation();
CREATE CONSTRAINT TRIGGER unlogged_write AFTER INSERT ON masquerade.directory_write DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION log_changes();
CREATE TRIGGER masks_enforced AFTER INSERT OR UPDATE OF enforced_at ON masquerade.enforcement_state FOR EACH ROW EXECUTE FUNCTION tell_of_masks();
CREATE TRIGGER database_reached AFTER INSERT OR UPDATE OF binding_reached_at ON masquerade.masked_database FOR EACH ROW WHEN ((new.binding_reached_at IS NOT NULL)) EXECUTE FUNCTION note_reached_place();
CREATE TRIGGER policy_changed AFTER UPDATE OF policy_state, policy_mode, exempt_principals, binding_version ON masquerade.masked_database FOR EACH ROW EXECUTE FUNCTION note_policy_change();
CREATE TRIGGER rule_changed AFTER INSERT OR DELETE OR UPDATE ON masquerade.masking_rule FOR EACH ROW EXECUTE FUNCTION note_policy_change();
CREATE TRIGGER former_member_told AFTER DELETE ON masquerade.member_edge REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tell_of_members_with_assignment();
CREATE TRIGGER member_edge_voids_tokens AFTER DELETE ON masquerade.member_edge REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION void_tokens_of_former_members();
CREATE TRIGGER members_changed AFTER INSERT OR DELETE OR UPDATE ON masquerade.member_edge FOR EACH STATEMENT EXECUTE FUNCTION tell_of_directory();
CREATE TRIGGER members_written AFTER INSERT OR DELETE OR UPDATE ON masquerade.member_edge FOR EACH STATEMENT EXECUTE FUNCTION note_directory_write();
CREATE TRIGGER new_member_told AFTER INSERT ON masquerade.member_edge REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tell_of_members_with_assignment();
CREATE TRIGGER ended_sign_in_told AFTER DELETE ON masquerade.oidc_state FOR EACH ROW WHEN ((old.model = 'Grant'::text)) EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER mapping_changed AFTER INSERT OR DELETE OR UPDATE ON masquerade.role_mapping FOR EACH ROW EXECUTE FUNCTION note_policy_change();
CREATE TRIGGER suspension_changed AFTER INSERT OR DELETE ON masquerade.suspension FOR EACH ROW EXECUTE FUNCTION note_policy_change();
CREATE TRIGGER cutoff_told AFTER INSERT OR UPDATE ON masquerade.token_cutoff FOR EACH ROW WHEN ((new.valid_from > '1970-01-01 00:00:00+00'::timestamp with time zone)) EXECUTE FUNCTION tell_of_revocation();
CREATE TRIGGER first_password_voids_tokens AFTER INSERT ON masquerade.user_password FOR EACH ROW EXECUTE FUNCTION void_tokens_before_first_password();
CREATE TRIGGER user_password_ends_credentials AFTER DELETE OR UPDATE OF hash, changed_at ON masquerade.user_password FOR EACH ROW EXECUTE FUNCTION end_credentials();
CREATE TRIGGER user_password_voids_tokens AFTER DELETE OR UPDATE OF hash ON masquerade.user_password FOR EACH ROW EXECUTE FUNCTION void_tokens('user_id');
