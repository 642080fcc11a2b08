-- A turn writes `Enforced` only where no change was stored since it began. Each change has a number that no other has, so that a state which
-- was forgotten and made anew in between is another one.
alter table enforcement_state add column last_change bigint not null default 0;

create or replace function note_policy_change() returns trigger language plpgsql as $$
declare
  changed uuid := case tg_table_name
    when 'masked_database' then (to_jsonb(new) ->> 'id')::uuid
    else (coalesce(to_jsonb(new), to_jsonb(old)) ->> 'database_id')::uuid end;
begin
  update masquerade.enforcement_state
  set since = case when state = 'Pending' then since else now() end, state = 'Pending',
    last_change = nextval('masquerade.resource_version'),
    reason = 'A change has not been enforced yet.', next_check_at = now() + interval '5 seconds'
  where database_id = changed;
  return null;
end $$;
