-- Clients whose application or service principal was purged. Outside issuers do not hear of a purge and go on issuing tokens through
-- the client: it stays refused until it has a service principal again.
create table purged_client (
  tenant_id uuid not null,
  app_id text not null,
  primary key (tenant_id, app_id)
);

create function keep_purged_client() returns trigger language plpgsql set search_path from current as $$
begin
  insert into purged_client (tenant_id, app_id) values (old.tenant_id, old.app_id) on conflict do nothing;
  return null;
end
$$;
create trigger purged_client_kept after delete on directory_object
  for each row when (old.kind in ('application', 'servicePrincipal') and old.app_id is not null)
  execute function keep_purged_client();

-- The standing of a client is looked up by its newest service principal, living or deleted.
create index service_principal_by_app_id on directory_object (tenant_id, app_id) where kind = 'servicePrincipal';
