-- Which secret key seals, by its id, and since when. Null: the only one, or the older of two. Nodes report the keys that
-- they know.
alter table instance add column sealing_key text, add column sealing_since timestamptz;
alter table node add column secret_keys text[] not null default '{}', add column seals_with text not null default '';
