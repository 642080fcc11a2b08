-- One turn of the controller at a time in each masked database, on whichever node. The epoch grows with each turn.
create table enforcement_lease (
  database_id uuid not null primary key references masked_database(id) on delete cascade,
  holder uuid not null,
  epoch bigint not null,
  until timestamptz not null
);
