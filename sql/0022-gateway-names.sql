-- The database that each name shorter than a whole path leads to at the gateway. A name stays with the database that was
-- bound with it first, also while that is not bound. Null: several databases had the name before names were held.
create table gateway_name (
  tenant_id uuid not null,
  name text collate "C" not null,
  key text collate "C",
  claimed_at timestamptz not null default now(),
  primary key (tenant_id, name)
);
create index gateway_name_by_key on gateway_name (tenant_id, key);

insert into gateway_name (tenant_id, name, key)
select tenant_id, short.name, case when count(*) = 1 then min(key) end
from masked_database
cross join lateral (select split_part(key, '/', 11) as d, split_part(key, '/', 9) as s, split_part(key, '/', 5) as g) part
cross join lateral unnest(array[d, s || '/' || d, g || '/' || s || '/' || d]) as short (name)
where binding is not null
group by tenant_id, short.name;
