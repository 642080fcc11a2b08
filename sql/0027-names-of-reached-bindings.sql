-- Bindings that never logged in hold no name at the gateway: they may be made up. They get the free ones when they log in.
delete from gateway_name held using masked_database d
where d.tenant_id = held.tenant_id and d.key = held.key and d.binding is not null and d.binding_reached_at is null;
