-- A turn judged the entry while roles other than superusers could create roles: none but its first role is exempt, also when no such role is
-- left, until the entry is removed. At another server the entry counts as new, unless it had no role.
alter table exempt_role add column is_pinned boolean not null default false;
