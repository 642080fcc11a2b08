-- A first password ends tokens like every later one. A person who is created with it has none yet.
create function void_tokens_before_first_password() returns trigger language plpgsql set search_path from current as $$
begin
  perform void_tokens_of_people(new.tenant_id, array[new.user_id])
  from directory_object where tenant_id = new.tenant_id and id = new.user_id and created_at < now();
  return null;
end
$$;
create trigger first_password_voids_tokens after insert on user_password
  for each row execute function void_tokens_before_first_password();
