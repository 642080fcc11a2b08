-- How many database roles the last look at a bound database found that its masks do not contain.
create table containment_look (
  database_id uuid primary key references masked_database (id) on delete cascade,
  not_contained integer not null
);
