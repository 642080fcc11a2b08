-- Changes get their revisions at commit. The counter row of a tenant is locked from its update to the end of the
-- transaction: a client that updated it by a statement of its own made all other writers wait for its round trips.
-- A transaction leaves its changes in a setting of its own (`appendChanges`); the deferred trigger logs them.

alter function log_unlogged_write() rename to log_changes;

create or replace function log_changes() returns trigger language plpgsql as $$
declare
  changes jsonb := nullif(pg_catalog.current_setting('masquerade.changes', true), '')::jsonb;
begin
  delete from masquerade.directory_write where writer = new.writer;
  if changes is null and pg_catalog.current_setting('masquerade.logged', true) is distinct from 'on' then
    -- Written past the service: every node has to load anew.
    select pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object(
        'tenantId', tenant_id, 'entity', 'directory', 'entityId', tenant_id, 'kind', 'rewritten'))
      into changes from masquerade.instance;
  end if;
  with change as (
    select (entry ->> 'tenantId')::uuid as tenant_id, entry, at
    from pg_catalog.jsonb_array_elements(changes) with ordinality as changed (entry, at)
  ), counter as (
    insert into masquerade.revision_counter as counter (tenant_id, value)
      select tenant_id, pg_catalog.count(*) from change group by tenant_id order by tenant_id
    on conflict (tenant_id) do update set value = counter.value + excluded.value
    returning tenant_id, value
  )
  insert into masquerade.change_log (tenant_id, revision, entity, entity_id, kind, data)
    select change.tenant_id,
      counter.value - pg_catalog.count(*) over tenant + pg_catalog.row_number() over (tenant order by at),
      entry ->> 'entity', entry ->> 'entityId', entry ->> 'kind', entry -> 'data'
    from change join counter on counter.tenant_id = change.tenant_id
    window tenant as (partition by change.tenant_id);
  perform pg_catalog.set_config('masquerade.changes', '', true), pg_catalog.set_config('masquerade.logged', 'on', true);
  return null;
end $$;
