-- The audit of a resource finds entries by its folded key. Previews were stored as their callers wrote the path.
update audit_event set target = lower(target collate "default")
where action = 'previewTable' and target <> lower(target collate "default");
