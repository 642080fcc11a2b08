-- Indexes that serve filters, orders and searches on properties of directory objects. `index` in a kind's table of
-- properties says which properties have one; a test compares both. Text is kept in lower case, null as the empty text.

create index directory_object_by_given_name on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'givenName', '')) collate "C"), id)
  where kind in ('user', 'orgContact') and deleted_at is null;
create index directory_object_by_surname on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'surname', '')) collate "C"), id)
  where kind in ('user', 'orgContact') and deleted_at is null;
create index directory_object_by_job_title on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'jobTitle', '')) collate "C"), id)
  where kind in ('user', 'orgContact') and deleted_at is null;
create index directory_object_by_department on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'department', '')) collate "C"), id)
  where kind in ('user', 'orgContact') and deleted_at is null;
create index directory_object_by_company_name on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'companyName', '')) collate "C"), id)
  where kind in ('user', 'orgContact') and deleted_at is null;
create index directory_object_by_city on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'city', '')) collate "C"), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_country on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'country', '')) collate "C"), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_employee_id on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'employeeId', '')) collate "C"), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_immutable_id on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'onPremisesImmutableId', '')) collate "C"), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_user_type on directory_object
  (tenant_id, kind, (lower(coalesce(coalesce(properties ->> 'userType', 'Member'), '')) collate "C"), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_account_enabled on directory_object
  (tenant_id, kind, ((properties ->> 'accountEnabled')::boolean), id)
  where kind = 'user' and deleted_at is null;
create index directory_object_by_unique_name on directory_object
  (tenant_id, kind, (lower(coalesce(properties ->> 'uniqueName', '')) collate "C"), id)
  where kind in ('group', 'application') and deleted_at is null;

-- The end of a text, read backwards.
create index directory_object_by_mail_end on directory_object
  (tenant_id, kind, (reverse(lower(coalesce(properties ->> 'mail', ''))) collate "C"), id)
  where kind in ('user', 'group', 'orgContact') and deleted_at is null;
create index directory_object_by_principal_name_end on directory_object
  (tenant_id, kind, (reverse(lower(coalesce(user_principal_name, ''))) collate "C"), id)
  where kind = 'user' and deleted_at is null;

-- The id makes it serve orders too.
drop index directory_object_by_mail_nickname;
create index directory_object_by_mail_nickname on directory_object
  (tenant_id, kind, (lower(coalesce(mail_nickname, '')) collate "C"), id) where deleted_at is null;

-- Items of collections.
create index directory_object_by_other_mail on directory_object
  using gin ((lower((coalesce(properties -> 'otherMails', '[]'))::text)::jsonb) jsonb_path_ops)
  where deleted_at is null and properties ? 'otherMails';
create index directory_object_by_proxy_address on directory_object
  using gin ((lower((coalesce(properties -> 'proxyAddresses', '[]'))::text)::jsonb) jsonb_path_ops)
  where deleted_at is null and properties ? 'proxyAddresses';
