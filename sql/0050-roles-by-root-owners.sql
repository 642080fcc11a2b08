-- An Owner at `/` assigned the role: it is a right before a database below its scope is bound.
alter table role_assignment add column by_root_owner boolean not null default false;

-- Known where the creator has been Owner at `/` by itself since before: an assignment is never changed.
update role_assignment a set by_root_owner = true
where exists (
  select from role_assignment o
  where o.tenant_id = a.tenant_id and o.principal_id = a.created_by and o.scope = '/' and o.role = 'Owner'
    and o.created_at < a.created_at);
