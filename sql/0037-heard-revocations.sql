-- Nodes remember for some seconds what a token rests on. They are told when that may have been taken away, and ask again.
create function tell_of_revocation() returns trigger language plpgsql as $$
begin
  perform pg_catalog.pg_notify('masquerade_revocations', '');
  return null;
end $$;

-- A row of no time is made before a token is issued, and revokes nothing.
create trigger cutoff_told after insert or update on token_cutoff
  for each row when (new.valid_from > 'epoch') execute function tell_of_revocation();

create trigger shut_out_principal_told after update on directory_object
  for each row when (old.kind in ('user', 'servicePrincipal', 'application')
    and (new.deleted_at is distinct from old.deleted_at
      or new.properties -> 'accountEnabled' is distinct from old.properties -> 'accountEnabled'))
  execute function tell_of_revocation();
create trigger purged_principal_told after delete on directory_object
  for each row when (old.kind in ('user', 'servicePrincipal', 'application')) execute function tell_of_revocation();

-- The grant of a sign-in goes when that ends.
create trigger ended_sign_in_told after delete on oidc_state
  for each row when (old.model = 'Grant') execute function tell_of_revocation();
