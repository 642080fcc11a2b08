-- Notifications name types in the namespace of the address under which the subscription was made.

alter table change_subscription add column namespace text not null default 'vendor.graph';
