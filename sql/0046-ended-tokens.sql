-- Disabling or deleting a principal ends its tokens for good: a thief must not get them back with the account. Sign-ins and
-- credentials for tools of a person end as by a new password; the password itself stays.
create function end_tokens() returns trigger language plpgsql set search_path from current as $$
begin
  update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second')
  where tenant_id = new.tenant_id and user_id = new.id;
  insert into token_cutoff (tenant_id, principal_id, valid_from) values (new.tenant_id, new.id, clock_timestamp())
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp());
  return null;
end
$$;

create trigger shut_out_principal_ends_tokens after update of properties, deleted_at on directory_object
  for each row when (old.kind in ('user', 'servicePrincipal') and (
    (old.deleted_at is null and new.deleted_at is not null)
    or (old.properties -> 'accountEnabled' is distinct from 'false' and new.properties -> 'accountEnabled' = 'false')))
  execute function end_tokens();

-- Principals that are shut out now.
update user_password set changed_at = greatest(clock_timestamp(), changed_at + interval '1 second')
from directory_object o
where o.tenant_id = user_password.tenant_id and o.id = user_password.user_id
  and (o.deleted_at is not null or o.properties -> 'accountEnabled' = 'false');
insert into token_cutoff (tenant_id, principal_id, valid_from)
select tenant_id, id, clock_timestamp() from directory_object
where kind in ('user', 'servicePrincipal') and (deleted_at is not null or properties -> 'accountEnabled' = 'false')
on conflict (tenant_id, principal_id, client_id) do update
  set valid_from = greatest(token_cutoff.valid_from, clock_timestamp());
