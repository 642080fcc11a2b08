/**
 * The expected view of a masked role, written by hand from the description of the masks and independent of our twins:
 * views of the same names in another schema.
 */
export const oracle = `
create schema oracle;
create view oracle.customer as select id, store_id, first_name,
  (case when length(last_name) > 1 then left(last_name, 1) || '***' else '***' end)::varchar(45) as last_name,
  case when full_name is null then null when length(full_name) > 3 then left(full_name, 2) || '~' || right(full_name, 1) else '~' end as full_name,
  case when email is not null then left(email, 1) || 'XXX@XXXX.com' end::varchar(80) as email,
  case when card is null then null
    when length(translate(card, '-', '')) >= 8 then 'XXXX-XXXX-XXXX-' || right(translate(card, '-', ''), 4)
    else 'XXXX-XXXX-XXXX-XXXX' end::varchar(19) as card,
  case when born is not null then date '1900-01-01' end as born,
  case when loyalty is not null then 7 end as loyalty,
  case when tags is not null then '{}'::text[] end as tags,
  case when preferences is not null then '{}'::jsonb end as preferences,
  case when external_id is not null then '00000000-0000-0000-0000-000000000000'::uuid end as external_id,
  address_id, active, created
  from public.customer;
create view oracle.address as select id, street, district, city_id, postal_code,
  case when phone is null then null when length(phone) > 5 then left(phone, 3) || '…' || right(phone, 2) else '…' end::varchar(20) as phone
  from public.address;
create view oracle.staff as select id, first_name, last_name,
  case when email is not null then left(email, 1) || 'XXX@XXXX.com' end::varchar(50) as email,
  case when ssn is not null then 'XXX-XX-' || right(ssn, 4) end::char(11) as ssn,
  case when salary is not null then 1500 end::numeric(8,2) as salary,
  case when picture is not null then '\\x00'::bytea end as picture,
  active, store_id, boss_id from public.staff;
create view oracle.payment as select id, customer_id, staff_id, rental_id, amount,
  case when card is null then null
    when length(translate(card, '-', '')) >= 8 then 'XXXX-XXXX-XXXX-' || right(translate(card, '-', ''), 4)
    else 'XXXX-XXXX-XXXX-XXXX' end::varchar(19) as card, paid from public.payment;
create view oracle.payment_2025_02 as select * from oracle.payment where paid >= '2025-02-01' and paid < '2025-03-01';
create view oracle."Complaint" as select "No", "Customer Id",
  case when "Written By" is not null then left("Written By", 1) || 'XXX@XXXX.com' end as "Written By", "What Über"
  from "Back Office"."Complaint";
create view oracle.customer_list as
  select c.id, c.first_name || ' ' || c.last_name as name, a.street, a.phone, t.name as city, o.name as country,
    case when c.active then 'active' else '' end as notes, c.store_id as sid
  from oracle.customer c join oracle.address a on a.id = c.address_id
  join public.city t on t.id = a.city_id join public.country o on o.id = t.country_id;
create view oracle.city_customers as
  select city, count(*) as customers, min(name) as first_of_them, max(phone) as phone from oracle.customer_list group by city;
create view oracle.sales_by_store as
  select s.store_id, m.first_name || ' ' || m.last_name as manager, m.ssn, sum(p.amount) as total
  from oracle.payment p join oracle.staff s on s.id = p.staff_id join public.store t on t.id = s.store_id
  join oracle.staff m on m.id = t.manager_id group by s.store_id, m.first_name, m.last_name, m.ssn;
create view oracle.rental_counts as
  select c.id as customer_id, c.email, count(r.id) as rentals from oracle.customer c left join public.rental r on r.customer_id = c.id
  group by c.id, c.email;
`

const views = [
  'customer',
  'address',
  'staff',
  'payment',
  'payment_2025_02',
  'customer_list',
  'city_customers',
  'sales_by_store',
  'rental_counts',
].join('|')

/** The same statement over the views written by hand. Names without a schema get there by the search path. */
export function overOracle(text: string): string {
  return text
    .replaceAll(new RegExp(`(?:\\bpublic|"public")\\s*\\.\\s*(?="?(?:${views})\\b)`, 'g'), 'oracle.')
    .replaceAll('"Back Office"."Complaint"', 'oracle."Complaint"')
}
