-- The facts that the token rests on by which a subscription was made or last renewed. Null: an earlier release stored it.
alter table change_subscription add column grounds jsonb;
