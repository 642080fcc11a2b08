-- Disabling or deleting a service principal ends its credentials for tools for good, as it does for a user: a service principal
-- has no password by which they would end.
create or replace function end_tokens() returns trigger language plpgsql set search_path from current as $$
begin
  update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second')
  where tenant_id = new.tenant_id and user_id = new.id;
  delete from database_credential where tenant_id = new.tenant_id and principal_id = new.id;
  insert into token_cutoff (tenant_id, principal_id, valid_from) values (new.tenant_id, new.id, clock_timestamp())
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp());
  return null;
end
$$;

-- Those of principals that are shut out now.
delete from database_credential c using directory_object principal
where principal.tenant_id = c.tenant_id and principal.id = c.principal_id
  and (principal.deleted_at is not null or principal.properties -> 'accountEnabled' = 'false');

-- The store does not know which secret made a credential: it ends with the last one of the application.
update database_credential c set expires_at = last.ends_at
from (
  select principal.tenant_id, principal.id, max(secret.ends_at) as ends_at
  from application_secret secret
  join directory_object application on application.tenant_id = secret.tenant_id and application.id = secret.application_id
  join directory_object principal on principal.tenant_id = secret.tenant_id
    and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
  group by principal.tenant_id, principal.id
) last
where last.tenant_id = c.tenant_id and last.id = c.principal_id and last.ends_at < c.expires_at;
