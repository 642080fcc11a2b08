-- Role assignments end with their server or database. These were left behind by deletions before that was so.
with ended as (
  delete from role_assignment assignment using audit_event event
  where event.tenant_id = assignment.tenant_id and event.at > assignment.created_at
    and event.action in ('Vendor.Sql/servers/databases/delete', 'Vendor.Sql/servers/delete')
    and (assignment.scope = event.target or starts_with(assignment.scope, event.target || '/'))
  returning assignment.*
)
insert into audit_event (tenant_id, actor, action, target, before)
  select tenant_id, '{"kind": "operator", "objectId": "", "applicationId": ""}',
    'Vendor.Authorization/roleAssignments/delete',
    scope || '/providers/vendor.authorization/roleassignments/' || id,
    jsonb_build_object('name', id, 'properties',
      jsonb_build_object('scope', shown_scope, 'roleName', role, 'principalId', principal_id))
  from ended;

-- The time of a revocation is read while its row is locked, and never goes back. A token service that waits for the row
-- after it has read the time of a token therefore sees every revocation with an earlier time.
create or replace function void_tokens() returns trigger language plpgsql set search_path from current as $$
declare
  gone jsonb := to_jsonb(old);
  principal uuid := gone ->> tg_argv[0];
  client uuid := case when tg_nargs > 1 then gone ->> tg_argv[1] end;
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  insert into token_cutoff (tenant_id, principal_id, client_id, valid_from)
  values (old.tenant_id, coalesce(principal, client), case when principal is null then nobody else coalesce(client, nobody) end,
    clock_timestamp())
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp());
  return null;
end
$$;
create or replace function void_tokens_of_people(tenant uuid, holders uuid[]) returns void language sql set search_path from current as $$
  insert into token_cutoff (tenant_id, principal_id, valid_from)
  select tenant, id, clock_timestamp() from directory_object
  where tenant_id = tenant and kind = 'user' and (id = any(holders)
    or id in (select member_id from member_edge where tenant_id = tenant and container_id = any(holders)))
  order by id
  on conflict (tenant_id, principal_id, client_id) do update
    set valid_from = greatest(token_cutoff.valid_from, clock_timestamp())
$$;
