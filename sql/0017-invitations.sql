-- An invitation is a password that is worth nothing after this time; it is null for a password of the user's own.
alter table user_password add column expires_at timestamptz;
