-- One folding of userPrincipalNames for uniqueness, sign-in, exempt lists and logins, whatever the locale of the database:
-- ASCII letters alone, as `src/kernel/fold-principal-name.ts` does it.
alter table directory_object add column folded_principal_name text
  generated always as (lower((properties ->> 'userPrincipalName') collate "C")) stored;
drop index user_principal_name_is_unique;
create unique index user_principal_name_is_unique on directory_object (tenant_id, folded_principal_name)
  where kind = 'user' and deleted_at is null;
