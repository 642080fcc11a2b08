-- When the binding first logged in to its database. Null: it never did, so it may be made up, and gives no rights.
-- Bindings from before this column count as reached: rights that they protect must not end with an upgrade.
alter table masked_database add column binding_reached_at timestamptz;
update masked_database set binding_reached_at = now() where binding is not null;
alter table masked_database add constraint masked_database_reached_is_bound
  check (binding is not null or binding_reached_at is null);
