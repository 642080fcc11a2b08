-- Consents by administrators for one person are looked up by client when members of groups change. What people consent to by themselves is left
-- out: a client may have it for every person.
create index delegated_permission_by_administrator on delegated_permission (tenant_id, client_id)
  where user_id is not null and permission <> all ('{openid,profile,email,offline_access,Calendars.Read,Calendars.ReadWrite,Contacts.Read,Contacts.ReadWrite,Mail.Read,Mail.ReadBasic,Mail.ReadWrite,Tasks.Read,Tasks.ReadWrite,User.Read,User.ReadBasic.All,User.ReadWrite}');
