-- Subscriptions to changes of the directory. A node delivers from the change log behind `position`, which moves only when
-- the client has taken the notifications.
create table change_subscription (
  tenant_id uuid not null,
  id uuid not null,
  -- As the client wrote it, and what it means: the objects of a kind, one of them, or the members of a group.
  resource text not null,
  kind text not null,
  object_id uuid,
  members_only boolean not null,
  change_types text[] not null,
  notification_url text not null,
  lifecycle_url text,
  -- Sealed: the client recognises our notifications by it.
  client_state bytea,
  -- The principal and the application whose token created it.
  creator_id uuid not null,
  application_id text not null,
  created_at timestamptz not null default now(),
  -- The token that created or renewed it counted from this time.
  renewed_at timestamptz not null default now(),
  expires_at timestamptz not null,
  -- The revision up to which the client has all notifications.
  position bigint not null,
  attempts integer not null default 0,
  next_attempt_at timestamptz not null default now(),
  -- The node that delivers at the moment.
  lease uuid,
  leased_until timestamptz,
  primary key (tenant_id, id)
);
create index change_subscription_by_creator on change_subscription (tenant_id, application_id, creator_id);
