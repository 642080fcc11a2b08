-- How common the values of properties are. The planner takes no statistics from the indexes on them, because these leave
-- deleted objects out; without them it reads all matches of a common value and sorts them.

create statistics directory_object_display_names on
  (lower(coalesce(display_name, '')) collate "C") from directory_object;
create statistics directory_object_principal_names on
  (lower(coalesce(user_principal_name, '')) collate "C") from directory_object;
create statistics directory_object_mail_nicknames on
  (lower(coalesce(mail_nickname, '')) collate "C") from directory_object;
create statistics directory_object_mails on
  (lower(coalesce(properties ->> 'mail', '')) collate "C") from directory_object;
create statistics directory_object_given_names on
  (lower(coalesce(properties ->> 'givenName', '')) collate "C") from directory_object;
create statistics directory_object_surnames on
  (lower(coalesce(properties ->> 'surname', '')) collate "C") from directory_object;
create statistics directory_object_job_titles on
  (lower(coalesce(properties ->> 'jobTitle', '')) collate "C") from directory_object;
create statistics directory_object_departments on
  (lower(coalesce(properties ->> 'department', '')) collate "C") from directory_object;
create statistics directory_object_company_names on
  (lower(coalesce(properties ->> 'companyName', '')) collate "C") from directory_object;
create statistics directory_object_citys on
  (lower(coalesce(properties ->> 'city', '')) collate "C") from directory_object;
create statistics directory_object_countrys on
  (lower(coalesce(properties ->> 'country', '')) collate "C") from directory_object;
create statistics directory_object_employee_ids on
  (lower(coalesce(properties ->> 'employeeId', '')) collate "C") from directory_object;
create statistics directory_object_on_premises_immutable_ids on
  (lower(coalesce(properties ->> 'onPremisesImmutableId', '')) collate "C") from directory_object;
create statistics directory_object_unique_names on
  (lower(coalesce(properties ->> 'uniqueName', '')) collate "C") from directory_object;
create statistics directory_object_user_types on
  (lower(coalesce(coalesce(properties ->> 'userType', 'Member'), '')) collate "C") from directory_object;
create statistics directory_object_accounts_enabled on
  ((properties ->> 'accountEnabled')::boolean) from directory_object;
create statistics directory_object_mail_ends on
  (reverse(lower(coalesce(properties ->> 'mail', ''))) collate "C") from directory_object;
create statistics directory_object_principal_name_ends on
  (reverse(lower(coalesce(user_principal_name, ''))) collate "C") from directory_object;
create statistics directory_object_name_words on
  (to_tsvector('simple', coalesce(display_name, ''))) from directory_object;
