-- A change is pending since it was made, not since the state before it; and a policy that is observed from now on, or
-- enforced, has changed as well.
create or replace function note_policy_change() returns trigger language plpgsql as $$
declare
  changed uuid := case tg_table_name
    when 'masked_database' then (to_jsonb(new) ->> 'id')::uuid
    else (coalesce(to_jsonb(new), to_jsonb(old)) ->> 'database_id')::uuid end;
begin
  update masquerade.enforcement_state
  set since = case when state = 'Pending' then since else now() end, state = 'Pending',
    reason = 'A change has not been enforced yet.', next_check_at = now() + interval '5 seconds'
  where database_id = changed;
  return null;
end $$;

drop trigger policy_changed on masked_database;
create trigger policy_changed after update of policy_state, policy_mode, exempt_principals, binding_version
  on masked_database for each row execute function note_policy_change();
