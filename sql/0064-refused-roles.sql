-- Whether writes that add masks are refused while these would not contain every database role.
alter table masked_database add column not_contained text not null default 'report'
  check (not_contained in ('report', 'refuse'));
