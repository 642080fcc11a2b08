-- What became of the rules in the databases they are for. Every node writes here what it found; any node may look.

create table enforcement_state (
  database_id uuid primary key references masked_database (id) on delete cascade,
  state text not null check (state in ('Enforced', 'Pending', 'Failed')),
  reason text,
  notes jsonb not null default '[]',
  checked_at timestamptz not null default now(),
  -- The last time the database was known to be as the policy says.
  enforced_at timestamptz,
  next_check_at timestamptz not null default now(),
  -- Failures in a row; they space the attempts out.
  failures integer not null default 0,
  drift_repairs bigint not null default 0,
  last_drift_at timestamptz
);
create index enforcement_state_by_next_check on enforcement_state (next_check_at);

-- Tables that somebody is migrating: they have no twin meanwhile, and nothing of them is unmasked.
create table suspension (
  database_id uuid not null references masked_database (id) on delete cascade,
  schema_name text not null,
  table_name text not null,
  created_at timestamptz not null default now(),
  primary key (database_id, schema_name, table_name)
);

-- When sample data was brought, or it was decided that there shall be none: only a first start asks.
alter table instance add column sampled_at timestamptz;

-- A change of what is to be enforced is pending from the moment it is committed, whoever makes it and whatever happens
-- after: a node that dies before it has enforced it leaves the truth behind, and the next look is soon.
create function note_policy_change() returns trigger language plpgsql as $$
declare
  changed uuid := case tg_table_name
    when 'masked_database' then (to_jsonb(new) ->> 'id')::uuid
    else (coalesce(to_jsonb(new), to_jsonb(old)) ->> 'database_id')::uuid end;
begin
  update masquerade.enforcement_state
  set state = 'Pending', reason = 'A change has not been enforced yet.', next_check_at = now() + interval '5 seconds'
  where database_id = changed;
  return null;
end $$;

create trigger rule_changed after insert or update or delete on masking_rule
  for each row execute function note_policy_change();
create trigger suspension_changed after insert or delete on suspension
  for each row execute function note_policy_change();
create trigger policy_changed after update of policy_state, exempt_principals, binding_version on masked_database
  for each row execute function note_policy_change();
