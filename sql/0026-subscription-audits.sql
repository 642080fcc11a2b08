-- Audit entries of change notifications had targets that readers of masking at `/` saw, and addresses with the keys of
-- clients. Give earlier entries the targets and origins that entries have now.
update audit_event entry set
  target = regexp_replace(entry.target, '^/subscriptions/', '/changeSubscriptions/'),
  before = (
    select jsonb_object_agg(key, case when key in ('notificationUrl', 'lifecycleNotificationUrl') then
      to_jsonb(regexp_replace(value #>> '{}', '^([a-z]+://)([^/?#]*@)?([^/?#]*).*$', '\1\3', 'i')) else value end)
    from jsonb_each(entry.before)),
  after = (
    select jsonb_object_agg(key, case when key in ('notificationUrl', 'lifecycleNotificationUrl') then
      to_jsonb(regexp_replace(value #>> '{}', '^([a-z]+://)([^/?#]*@)?([^/?#]*).*$', '\1\3', 'i')) else value end)
    from jsonb_each(entry.after))
where entry.action in ('create subscription', 'renew subscription', 'delete subscription')
  and entry.target ~ '^/subscriptions/[^/]+$';
