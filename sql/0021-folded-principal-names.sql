-- One folding of userPrincipalNames for uniqueness, sign-in, exempt lists and logins, whatever the locale of the database:
-- ASCII letters alone, as `src/kernel/fold-principal-name.ts` does it.
alter table directory_object add column folded_principal_name text
  generated always as (lower((properties ->> 'userPrincipalName') collate "C")) stored;
drop index user_principal_name_is_unique;

-- Names that were two in the locale of the database may be one now: in a Turkish one `VIP@` was not `vip@`. The oldest account
-- keeps the name. The others get their id into theirs: exemptions and logins go by names, and a later double must not
-- have those of the first. The audit has both names; administrators give these people another one.
-- Only where there are such names: a statement that changes no row still counts as one past the change log.
do $$ begin
  if exists (
    select from directory_object where kind = 'user' and deleted_at is null and folded_principal_name is not null
    group by tenant_id, folded_principal_name having count(*) > 1
  ) then
    with named as (
      select tenant_id, id, properties ->> 'userPrincipalName' as name,
        row_number() over (partition by tenant_id, folded_principal_name order by created_at, id) as place
      from directory_object where kind = 'user' and deleted_at is null and folded_principal_name is not null
    ), renamed as (
      update directory_object o set properties = jsonb_set(properties, '{userPrincipalName}', to_jsonb(
        left(split_part(name, '@', 1), 31) || '.' || replace(o.id::text, '-', '')
          || coalesce('@' || nullif(split_part(name, '@', 2), ''), '')))
      from named where named.place > 1 and o.tenant_id = named.tenant_id and o.id = named.id
      returning o.tenant_id, o.id, named.name, o.properties ->> 'userPrincipalName' as new_name
    )
    insert into audit_event (tenant_id, actor, action, target, before, after)
      select tenant_id, '{"kind": "operator", "objectId": "", "applicationId": ""}', 'rename doubled user', '/users/' || id,
        jsonb_build_object('userPrincipalName', name), jsonb_build_object('userPrincipalName', new_name)
      from renamed;
  end if;
end $$;
-- An index is not made while triggers of these changes are due.
set constraints all immediate;
set constraints all deferred;

create unique index user_principal_name_is_unique on directory_object (tenant_id, folded_principal_name)
  where kind = 'user' and deleted_at is null;
