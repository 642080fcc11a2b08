-- A lock in the masked database itself says whose turn it is.
drop table enforcement_lease;
