-- The audit narrowed to who acted, or to what they did: without these, a rare actor or action costs a look at every entry.
-- Writers of the audit wait while the indexes are made; a partition that is added later has them from its start.
create index audit_event_by_actor on audit_event (tenant_id, (actor ->> 'objectId'), at, id);
create index audit_event_by_action on audit_event (tenant_id, action, at, id);
