-- The origins of the addresses that a person's consent is for: an address of another origin, registered later, asks the person
-- again. Consents of before are for the addresses that the application has now.
alter table delegated_permission add column origins text[] not null default '{}';

update delegated_permission granted set origins = array(
  select distinct regexp_replace(
    lower(substring(found.uri #>> '{}' from '^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*')),
    '^(https?://(localhost|127\.0\.0\.1|\[::1\])):\d+$', '\1')
  from directory_object client
  join directory_object application on application.tenant_id = client.tenant_id
    and application.kind = 'application' and application.app_id = client.app_id
  cross join lateral jsonb_path_query(application.properties, '$.*.redirectUris[*]') as found (uri)
  where client.tenant_id = granted.tenant_id and client.id = granted.client_id
    and found.uri #>> '{}' ~ '^[A-Za-z][A-Za-z0-9+.-]*://')
where user_id is not null;
