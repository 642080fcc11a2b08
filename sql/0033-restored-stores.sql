-- When the store was restored from a backup. Databases whose state was checked before that keep the gateway closed.
alter table instance add column restored_at timestamptz;
