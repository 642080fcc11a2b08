-- A token names the secret or certificate that it was issued by: all nodes hear when one is removed.
create trigger removed_secret_told after delete on application_secret
  for each row execute function tell_of_revocation();
create trigger removed_certificate_told after update of properties on directory_object
  for each row when (old.kind = 'application' and jsonb_typeof(old.properties -> 'keyCredentials') = 'array'
    and old.properties -> 'keyCredentials' is distinct from new.properties -> 'keyCredentials')
  execute function tell_of_revocation();
