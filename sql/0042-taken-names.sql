-- A role that took the name of an exempt entry while masked roles could create roles: none but the first role of the entry is
-- exempt any more, also when no masked role may create roles, until the entry is removed.
alter table exempt_role add column is_taken boolean not null default false;
