-- A certificate is removed after a theft, as a secret is: the thief may have made a credential for a tool meanwhile.
create function end_credentials_of_certificate() returns trigger language plpgsql set search_path from current as $$
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
$$;
create trigger certificate_ends_credentials after update of properties on directory_object
  for each row when (old.kind = 'application'
    and old.properties -> 'keyCredentials' is distinct from new.properties -> 'keyCredentials')
  execute function end_credentials_of_certificate();
