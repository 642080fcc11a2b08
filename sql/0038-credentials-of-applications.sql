-- A secret is removed after a theft, and the thief may have made a credential with it.
create function end_credentials_of_application() returns trigger language plpgsql set search_path from current as $$
begin
  delete from database_credential c using directory_object application, directory_object principal
  where application.tenant_id = old.tenant_id and application.id = old.application_id
    and principal.tenant_id = old.tenant_id and principal.kind = 'servicePrincipal' and principal.app_id = application.app_id
    and c.tenant_id = old.tenant_id and c.principal_id = principal.id;
  return null;
end
$$;
create trigger application_secret_ends_credentials after delete on application_secret
  for each row execute function end_credentials_of_application();
