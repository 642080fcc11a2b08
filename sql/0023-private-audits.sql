-- Mailbox items and open extensions are their owner's alone. Audit entries of earlier versions hold their values: keep
-- the names of the changed properties, as an array.
update audit_event set
  before = case when after is null then changed.names end,
  after = case when after is not null then changed.names end
from (
  select entry.id, coalesce(jsonb_agg(name order by name collate "C") filter (where name is not null), '[]') as names
  from audit_event entry
  left join lateral jsonb_object_keys(coalesce(entry.before, '{}') || coalesce(entry.after, '{}')) as name
    on entry.before -> name is distinct from entry.after -> name
  where entry.action ~ ('^(create|update|delete) (message|mailFolder|event|calendar|calendarGroup|contact|contactFolder'
      || '|todoTaskList|todoTask|conversation|thread|post|openExtension)$')
    and jsonb_typeof(coalesce(entry.after, entry.before)) = 'object'
  group by entry.id
) changed
where audit_event.id = changed.id;
