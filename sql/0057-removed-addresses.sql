-- A token names the address that its sign-in was answered at: all nodes hear when an application loses one, or the right to sign in devices.
create trigger removed_address_told after update of properties on directory_object
  for each row when (old.kind = 'application' and (
    old.properties -> 'web' is distinct from new.properties -> 'web'
    or old.properties -> 'spa' is distinct from new.properties -> 'spa'
    or old.properties -> 'publicClient' is distinct from new.properties -> 'publicClient'
    or old.properties -> 'isFallbackPublicClient' is distinct from new.properties -> 'isFallbackPublicClient'))
  execute function tell_of_revocation();
