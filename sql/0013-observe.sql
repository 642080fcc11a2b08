-- A policy can be watched before it is enforced: nothing is revoked, and the gateway records who would see masks.
alter table masked_database add column policy_mode text not null default 'Enforce'
  check (policy_mode in ('Enforce', 'Observe'));

-- Since when a database is in its state: how long it has been pending, for example.
alter table enforcement_state add column since timestamptz not null default now();
