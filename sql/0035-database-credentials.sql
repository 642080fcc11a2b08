-- Passwords for tools that keep one: of a person or application, for logins at the gateway alone. The verifier is that of
-- SCRAM-SHA-256; the password itself is stored nowhere.
create table database_credential (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  principal_id uuid not null,
  name text not null collate "C",
  verifier text not null,
  -- Paths of databases in lower case; empty: every database that the principal may log in to.
  databases text[] not null default '{}',
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  last_used_at timestamptz,
  primary key (tenant_id, id),
  constraint database_credential_is_unique unique (tenant_id, principal_id, name),
  foreign key (tenant_id, principal_id) references directory_object (tenant_id, id) on delete cascade
);

-- A new password, and the end of every sign-in, end the credentials that were made before: a thief may have made one.
create function end_credentials() returns trigger language plpgsql set search_path from current as $$
begin
  delete from database_credential where tenant_id = old.tenant_id and principal_id = old.user_id;
  return null;
end
$$;
create trigger user_password_ends_credentials after delete or update of hash, changed_at on user_password
  for each row execute function end_credentials();
