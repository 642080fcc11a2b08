-- In scopes of a subscription `providers` with a resource group `servers`, `resourcegroups` had become the name of a provider.
update role_assignment set scope = regexp_replace(scope, '^/subscriptions/providers/[^/]+/servers', '/subscriptions/providers/resourcegroups/servers')
where scope ~ '^/subscriptions/providers/[^/]+/servers(/|$)';
