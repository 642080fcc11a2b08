-- The cluster that the hosts of a binding belong to, by its system identifier: a server of another one is not used.
alter table masked_database add column binding_system text;
