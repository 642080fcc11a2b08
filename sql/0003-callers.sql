-- Who may call: credentials, what was granted, the keys and the state of the token service.

create table user_password (
  tenant_id uuid not null,
  user_id uuid not null,
  hash text not null, -- argon2id
  must_change boolean not null default false, -- at the next sign-in
  changed_at timestamptz not null default now(),
  primary key (tenant_id, user_id),
  foreign key (tenant_id, user_id) references directory_object (tenant_id, id) on delete cascade
);

create table application_secret (
  tenant_id uuid not null,
  application_id uuid not null, -- object id of the application
  key_id uuid not null,
  hash text not null,
  hint text not null,
  display_name text,
  starts_at timestamptz not null default now(),
  ends_at timestamptz not null,
  primary key (tenant_id, application_id, key_id),
  foreign key (tenant_id, application_id) references directory_object (tenant_id, id) on delete cascade
);

-- Application permissions: what a service principal may do by itself.
create table application_permission (
  tenant_id uuid not null,
  service_principal_id uuid not null,
  permission text not null,
  granted_at timestamptz not null default now(),
  primary key (tenant_id, service_principal_id, permission),
  foreign key (tenant_id, service_principal_id) references directory_object (tenant_id, id) on delete cascade
);

-- Delegated permissions: what a client may do for a user; without a user, for all users.
create table delegated_permission (
  tenant_id uuid not null,
  client_id uuid not null, -- object id of the client's service principal
  user_id uuid,
  permission text not null,
  granted_at timestamptz not null default now(),
  foreign key (tenant_id, client_id) references directory_object (tenant_id, id) on delete cascade,
  foreign key (tenant_id, user_id) references directory_object (tenant_id, id) on delete cascade
);
create unique index delegated_permission_for_all on delegated_permission (tenant_id, client_id, permission)
  where user_id is null;
create unique index delegated_permission_for_user on delegated_permission (tenant_id, client_id, user_id, permission)
  where user_id is not null;

-- Failed sign-ins, counted on every node together.
create table sign_in_attempt (
  subject text primary key, -- hash of the account or address
  failures integer not null,
  last_failure_at timestamptz not null,
  blocked_until timestamptz
);

create table signing_key (
  kid text primary key,
  algorithm text not null,
  public_jwk jsonb not null,
  private_key bytea not null, -- encrypted
  created_at timestamptz not null default now(),
  -- Signs from then on; published before, so that every verifier has it in time.
  active_from timestamptz not null,
  -- Still verifies until then.
  expires_at timestamptz
);

-- State of the token service: sessions, codes, grants, refresh tokens.
create table oidc_state (
  model text not null,
  id text not null,
  payload jsonb not null,
  grant_id text,
  user_code text,
  uid text,
  consumed_at timestamptz,
  expires_at timestamptz,
  primary key (model, id)
);
create index oidc_state_by_grant on oidc_state (grant_id) where grant_id is not null;
create index oidc_state_by_user_code on oidc_state (user_code) where user_code is not null;
create index oidc_state_by_uid on oidc_state (uid) where uid is not null;
create index oidc_state_by_expiry on oidc_state (expires_at) where expires_at is not null;

-- Roles at a scope of the masking API, to users, groups (transitively) and service principals.
create table role_assignment (
  id uuid primary key,
  tenant_id uuid not null,
  scope text not null, -- lower case, '/' or a path without a trailing slash
  shown_scope text not null,
  role text not null,
  principal_id uuid not null,
  created_at timestamptz not null default now(),
  created_by uuid,
  constraint role_assignment_exists_already unique (tenant_id, scope, role, principal_id),
  constraint role_assignment_principal foreign key (tenant_id, principal_id)
    references directory_object (tenant_id, id) on delete cascade
);
create index role_assignment_by_principal on role_assignment (tenant_id, principal_id);

-- Tokens from before `valid_from` are void: those of a principal, through one client or (the nil id) through any.
create table token_cutoff (
  tenant_id uuid not null,
  principal_id uuid not null,
  client_id uuid not null default '00000000-0000-0000-0000-000000000000', -- object id of a service principal
  valid_from timestamptz not null,
  primary key (tenant_id, principal_id, client_id)
);

-- By triggers, so that no way of taking something away can forget it. The arguments name the columns of the principal
-- and of the client; where there is no principal, everybody's tokens through the client are void.
create function void_tokens() returns trigger language plpgsql set search_path from current as $$
declare
  gone jsonb := to_jsonb(old);
  principal uuid := gone ->> tg_argv[0];
  client uuid := case when tg_nargs > 1 then gone ->> tg_argv[1] end;
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
  values (old.tenant_id, coalesce(principal, client), case when principal is null then nobody else coalesce(client, nobody) end,
    clock_timestamp())
  on conflict (tenant_id, principal_id, client_id) do update set valid_from = excluded.valid_from;
  return null;
end
$$;
create trigger user_password_voids_tokens after update of hash or delete on user_password
  for each row execute function void_tokens('user_id');
create trigger application_permission_voids_tokens after delete on application_permission
  for each row execute function void_tokens('service_principal_id');
create trigger delegated_permission_voids_tokens after delete on delegated_permission
  for each row execute function void_tokens('user_id', 'client_id');

-- A token also says which directory roles the person holds, and what they are good for. Those who lose a role, or a
-- group that can hold roles, or whose group loses one, get a new token.
create function void_tokens_of_people(tenant uuid, holders uuid[]) returns void language sql set search_path from current as $$
  insert into token_cutoff (tenant_id, principal_id, valid_from)
  select tenant, id, clock_timestamp() from directory_object
  where tenant_id = tenant and kind = 'user' and (id = any(holders)
    or id in (select member_id from member_edge where tenant_id = tenant and container_id = any(holders)))
  order by id
  on conflict (tenant_id, principal_id, client_id) do update set valid_from = excluded.valid_from
$$;
create function void_tokens_of_former_members() returns trigger language plpgsql set search_path from current as $$
begin
  perform void_tokens_of_people(edge.tenant_id, array_agg(edge.member_id))
  from gone edge
  join directory_object container on container.tenant_id = edge.tenant_id and container.id = edge.container_id
  where container.kind = 'directoryRole' or container.properties -> 'isAssignableToRole' = 'true'
  group by edge.tenant_id;
  return null;
end
$$;
create trigger member_edge_voids_tokens after delete on member_edge referencing old table as gone
  for each statement execute function void_tokens_of_former_members();
create function void_tokens_of_members() returns trigger language plpgsql set search_path from current as $$
begin
  perform void_tokens_of_people(new.tenant_id, array[new.id]);
  return null;
end
$$;
create trigger role_assignable_group_voids_tokens after update of deleted_at on directory_object
  for each row when (new.kind = 'group' and new.deleted_at is not null and old.deleted_at is null
    and new.properties -> 'isAssignableToRole' = 'true')
  execute function void_tokens_of_members();

-- Who was made on the first start. Its row says that the first start is over, whatever became of them since.
create table first_start (
  tenant_id uuid primary key,
  administrator_id uuid not null,
  application_id uuid not null, -- client id
  service_principal_id uuid not null,
  at timestamptz not null default now()
);
