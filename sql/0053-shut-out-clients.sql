-- How often clients were disabled or deleted. Sign-ins from before do not come back when a client is enabled, restored or made anew: a
-- count, because two times of one second could not be told apart.
create table shut_out_client (
  tenant_id uuid not null,
  app_id text not null,
  times bigint not null,
  primary key (tenant_id, app_id)
);

create function count_shut_out() returns trigger language plpgsql set search_path from current as $$
begin
  insert into shut_out_client (tenant_id, app_id, times) values (old.tenant_id, old.app_id, 1)
  on conflict (tenant_id, app_id) do update set times = shut_out_client.times + 1;
  return null;
end
$$;
create trigger shut_out_client_counted after update of properties, deleted_at on directory_object
  for each row when (old.kind in ('application', 'servicePrincipal') and old.app_id is not null and (
    (old.deleted_at is null and new.deleted_at is not null)
    or (old.properties -> 'accountEnabled' is distinct from 'false' and new.properties -> 'accountEnabled' = 'false')))
  execute function count_shut_out();
-- One that was deleted before was counted then, and another may have taken its place since.
create trigger purged_client_counted after delete on directory_object
  for each row when (old.kind in ('application', 'servicePrincipal') and old.app_id is not null and old.deleted_at is null)
  execute function count_shut_out();

-- Those that are shut out now.
insert into shut_out_client (tenant_id, app_id, times)
select distinct tenant_id, app_id, 1 from directory_object
where kind in ('application', 'servicePrincipal') and app_id is not null
  and (deleted_at is not null or properties -> 'accountEnabled' = 'false');
