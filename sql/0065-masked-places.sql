-- Where the masks of a database are, as its system identifier and OID. Records of grants are in the masked database alone.
create table masked_place (
  database_id uuid primary key references masked_database (id) on delete cascade,
  place text not null
);
insert into masked_place (database_id, place) select database_id, place from copied_record;
insert into masked_place (database_id, place) select distinct on (database_id) database_id, place from closed_relation
  on conflict do nothing;
drop table closed_relation;
drop table copied_record;
