-- What nodes took of a caller's requests in a second. Unlogged: after a crash or a failover the next second begins anew.
create unlogged table request_allowance (
  caller text not null primary key,
  second bigint not null,
  taken integer not null
);
