export interface Read {
  readonly name: string
  readonly text: string
  readonly values?: readonly (string | null)[]
  /** The same over the views written by hand, where the names alone do not make it so. */
  readonly byHand?: string
}

const of = (name: string, text: string, more: Omit<Read, 'name' | 'text'> = {}): Read => ({
  name,
  text,
  ...more,
})

const reports: readonly Read[] = [
  of('every column', 'select * from public.customer order by id'),
  of('every column without a schema', 'select * from customer order by id limit 50'),
  of('some columns', 'select id, email, card, born from public.customer order by id limit 100'),
  of(
    'all of them from staff but what is drawn',
    'select id, email, ssn, picture, active from staff order by id',
  ),
  of('a page', 'select id, full_name, email from public.customer order by id limit 20 offset 40'),
  of(
    'a page by key',
    'select id, email from customer where (store_id, id) > (1, 100) order by store_id, id limit 10',
  ),
  of(
    'a page with ties',
    'select store_id, active from customer order by active fetch first 5 rows with ties',
  ),
  of('parameters', 'select id, email, tags from public.customer where id between $1 and $2 order by id', {
    values: ['10', '60'],
  }),
  of('a parameter that is compared with a mask', 'select count(*) from public.customer where email = $1', {
    values: ['secret5@mail.example'],
  }),
  of('a list', 'select id, card from customer where id in (1, 17, 34, 51) order by id'),
  of('an array as a parameter', 'select id, card from customer where id = any($1::int[]) order by id', {
    values: ['{3,4,17}'],
  }),
  of('null stays null', 'select id, email from customer where email is null order by id'),
  of('a pattern finds masks', "select count(*) from public.customer where email like 'sXXX%'"),
  of(
    'a pattern does not find what is beneath',
    "select count(*) from public.customer where email like 'secret1%' or card like '4111%'",
  ),
  of(
    'joins',
    `select c.id, c.full_name, a.phone, t.name from public.customer c join public.address a on a.id = c.address_id
    join public.city t on t.id = a.city_id order by c.id limit 80`,
  ),
  of(
    'joins without aliases',
    `select customer.id, customer.email, address.phone from customer, address
    where customer.address_id = address.id order by customer.id limit 80`,
  ),
  of(
    'joins by schema',
    `select public.customer.id, public.customer.email, public.address.phone from public.customer
    inner join public.address on public.address.id = public.customer.address_id order by public.customer.id limit 80`,
  ),
  of(
    'an outer join',
    `select c.id, c.email, p.card from public.customer c left join public.payment p
    on p.customer_id = c.id and p.amount > 7 and p.paid < '2025-01-10' order by c.id, p.id limit 150`,
  ),
  of(
    'a full join',
    'select c.id, s.id as sid, s.ssn from customer c full join staff s on s.id = c.id order by 1, 2',
  ),
  of(
    'using',
    'select store_id, count(c.email), count(s.email) from customer c join staff s using (store_id) group by store_id order by 1',
  ),
  of('natural', 'select count(*) from public.customer natural join public.store'),
  of(
    'a join of a table with itself',
    `select a.id, b.id as other, a.email from customer a join public.customer b
    on b.email = a.email and b.id = a.id + 1 order by a.id limit 40`,
  ),
  of(
    'joined parentheses with an alias',
    `select x.* from (public.customer c join public.store s on s.id = c.store_id)
    as x (id, store_id, first, last) order by 1 limit 10`,
  ),
  of(
    'groups',
    'select store_id, active, count(*), min(email), max(born) from public.customer group by store_id, active order by 1, 2',
  ),
  of(
    'groups of masks',
    'select last_name, count(*) from customer group by last_name having count(*) > 3 order by 2 desc, 1',
  ),
  of(
    'groups by place and by expression',
    'select left(full_name, 2), count(*) from public.customer group by 1 order by 1',
  ),
  of(
    'grouping sets',
    `select store_id, active, grouping(store_id, active) as g, count(email) from public.customer
    group by grouping sets ((store_id, active), (store_id), ()) order by 1, 2, 3`,
  ),
  of(
    'rollup',
    `select date_trunc('month', paid)::date as month, staff_id, sum(amount), count(distinct card) from public.payment
    group by rollup (1, 2) order by 1, 2`,
  ),
  of(
    'cube',
    'select rating, language_id, count(*) from film group by cube (rating, language_id) order by 1, 2',
  ),
  of(
    'a filtered aggregate',
    `select store_id, count(*) filter (where active), count(*) filter (where email like 's%') from customer group by 1 order by 1`,
  ),
  of(
    'an ordered aggregate',
    `select store_id, string_agg(distinct last_name, ',' order by last_name) from public.customer group by 1 order by 1`,
  ),
  of(
    'percentiles',
    `select staff_id, percentile_cont(0.5) within group (order by amount), mode() within group (order by card)
    from public.payment group by 1 order by 1`,
  ),
  of(
    'an aggregate of its own',
    `select listed(last_name::text order by id) from (select * from customer where id < 9) c`,
  ),
  of(
    'windows',
    `select id, email, row_number() over w, lag(card) over w, first_value(last_name) over w from public.customer
    window w as (partition by store_id order by id) order by store_id, id limit 120`,
  ),
  of(
    'a running total',
    `select p.id, p.card, sum(p.amount) over (partition by p.customer_id order by p.paid rows between unbounded preceding
    and current row) as total from payment p where p.customer_id < 20 order by p.customer_id, p.paid`,
  ),
  of(
    'a rank',
    `select * from (select c.id, c.email, rank() over (order by count(*) desc, c.id) as place from public.customer c
    join rental r on r.customer_id = c.id group by c.id, c.email) ranked where place <= 10 order by place`,
  ),
  of('distinct', 'select distinct last_name, born from public.customer order by 1'),
  of(
    'distinct on',
    `select distinct on (customer_id) customer_id, card, amount, paid from public.payment order by customer_id, paid desc`,
  ),
  of(
    'a common table',
    `with late as (select r.customer_id, count(*) as n from rental r where r.returned is null group by 1)
    select c.id, c.email, late.n from public.customer c join late on late.customer_id = c.id order by late.n desc, c.id`,
  ),
  of(
    'a common table of the same name',
    `with customer as (select id, email from public.customer where id < 5)
    select * from customer order by id`,
  ),
  of(
    'a common table that hides a masked one',
    `with staff (id, email) as (values (1, 'mine')) select * from staff`,
  ),
  of(
    'common tables one inside the other',
    `with a as (with customer as (select 1 as id) select id from customer)
    select a.id, c.email from a join customer c on c.id = a.id`,
  ),
  of(
    'materialized or not',
    `with a as materialized (select * from customer), b as not materialized (select * from public.payment)
    select a.id, a.email, count(b.card) from a join b on b.customer_id = a.id where a.id < 30 group by 1, 2 order by 1`,
  ),
  of(
    'a recursion',
    `with recursive tree as (select id, name, parent_id, 1 as depth from category where parent_id is null
      union all select c.id, c.name, c.parent_id, depth + 1 from category c join tree t on t.id = c.parent_id)
    select * from tree order by depth, id`,
  ),
  of(
    'a recursion over a masked table',
    `with recursive chain as (select id, email, boss_id, array[id] as path from public.staff where boss_id is null
      union all select s.id, s.email, s.boss_id, path || s.id from public.staff s join chain c on c.id = s.boss_id)
    select * from chain order by path`,
  ),
  of(
    'a recursion of the same name',
    `with recursive staff as (select 1 as n union all select n + 1 from staff where n < 4) select * from staff order by n`,
  ),
  of(
    'lateral',
    `select c.id, c.email, last.card, last.amount from public.customer c cross join lateral (
      select p.card, p.amount from public.payment p where p.customer_id = c.id order by p.paid desc limit 2) last
    where c.id < 40 order by c.id, last.amount, last.card`,
  ),
  of(
    'lateral over a function',
    `select c.id, c.last_name, u.t from customer c, unnest(c.tags || array['x', 'y']) with ordinality u (t, n)
    where c.id < 5 order by c.id, u.n`,
  ),
  of(
    'a subquery as a value',
    `select c.id, (select max(p.card) from public.payment p where p.customer_id = c.id) from customer c order by c.id limit 60`,
  ),
  of(
    'exists',
    `select id, email from public.customer c where exists (select 1 from rental where rental.customer_id = c.id and returned is null) order by id`,
  ),
  of(
    'not in',
    `select id, email from customer where id not in (select customer_id from public.rental) order by id`,
  ),
  of(
    'compared with all',
    'select id, amount, card from payment where amount >= all (select amount from public.payment) order by id limit 30',
  ),
  of(
    'a row compared',
    `select id from public.customer where (first_name, last_name) = ('Bob', 'I***') order by id`,
  ),
  of(
    'a correlation by schema',
    `select public.customer.id from public.customer where exists (select 1 from public.payment
    where public.payment.customer_id = public.customer.id and public.payment.card = public.customer.card) order by 1 limit 40`,
  ),
  of(
    'union',
    `select email, 'c' as kind from public.customer union select email, 's' from staff order by 1, 2`,
  ),
  of(
    'union all, intersect, except',
    `(select last_name from customer where store_id = 1 intersect select last_name from public.customer where store_id = 2)
    except select left(last_name, 1) || '***' from staff where id < 3 order by 1`,
  ),
  of(
    'values and tables',
    `select v.id, c.email from (values (3), (1), (2)) v (id) join public.customer c on c.id = v.id order by v.id`,
  ),
  of('TABLE', 'table public.address order by id'),
  of('a set operation of TABLEs', 'table public.address except table public.address'),
  of('JSON of rows', `select json_agg(row_to_json(c) order by c.id) from public.customer c where c.id < 12`),
  of(
    'JSON of a join',
    `select jsonb_build_object('who', c.email, 'paid', jsonb_agg(jsonb_build_object('card', p.card, 'amount', p.amount) order by p.paid))
    from customer c join payment p on p.customer_id = c.id where c.id < 15 group by c.id, c.email order by c.id`,
  ),
  of(
    'a whole row',
    'select (c).email, c is null, to_jsonb(c) - $1 from customer c where c.id < 6 order by c.id',
    { values: ['created'] },
  ),
  of(
    'a whole row by the name of the table',
    'select row_to_json(customer) from public.customer where id < 4 order by id',
  ),
  of(
    'arrays',
    `select array_agg(email order by id), array(select card from public.customer where id < 4 order by id) from customer where id < 4`,
  ),
  of(
    'array operators',
    `select id, features from film where 'Trailers' = any(features) and features @> array['Commentary'] order by id limit 30`,
  ),
  of(
    'full text',
    `select title, ts_rank(words, q) from film, websearch_to_tsquery('english', 'amber or frost') q where words @@ q order by 2 desc, 1 limit 20`,
  ),
  of(
    'a case',
    `select id, case when email like '%mail.example' then 'raw' when email is null then 'none' else email end from public.customer order by id limit 40`,
  ),
  of(
    'casts and operators',
    `select id, born + 1, loyalty * 2, card || '!', external_id::text, preferences ->> 'secret' from public.customer order by id limit 40`,
  ),
  of(
    'dates',
    `select extract(year from born) as y, age(timestamp '2000-01-01', born), count(*) from customer group by 1, 2`,
  ),
  of(
    'generated series',
    `select d::date, count(p.card) from generate_series(timestamp '2025-01-01', timestamp '2025-01-10', interval '1 day') d
    left join public.payment p on p.paid >= d and p.paid < d + interval '1 day' group by 1 order by 1`,
  ),
  of('a partition', 'select id, card from public.payment_2025_02 order by id limit 40'),
  of(
    'partitions',
    `select date_trunc('month', paid), count(*), min(card) from payment group by 1 order by 1`,
  ),
  of('a view', 'select * from public.customer_list order by id'),
  of('a view over a view', 'select * from city_customers order by city'),
  of('a view with sums', 'select * from sales_by_store order by store_id'),
  of('a materialized view', 'select * from public.rental_counts order by customer_id limit 70'),
  of('a view without masks', "select * from film_list where category = 'Drama' order by id"),
  of(
    'views and tables',
    `select l.name, c.email, s.ssn from public.customer_list l join customer c on c.id = l.id
    join public.staff s on s.id = c.store_id order by l.id limit 30`,
  ),
  of(
    'a function over what is not masked',
    `select c.id, customer_balance(c.id, '2025-02-01'), c.email from public.customer c where c.id < 12 order by c.id`,
  ),
  of('a function of rows', 'select film_in_stock(5, 2)'),
  of(
    'a function in FROM',
    `select i, f.title from film_in_stock(7, 2) i join inventory v on v.id = i join film f on f.id = v.film_id order by 1`,
  ),
  of(
    'a function of values',
    `select id, public.last_day(paid), card from public.payment where id < 20 order by id`,
  ),
]

const spellings: readonly Read[] = [
  of(
    'quoted',
    'select "customer"."email", "public"."customer"."id" from "public"."customer" order by "customer"."id" limit 9',
  ),
  of('in capitals', 'SELECT Customer.EMAIL FROM PUBLIC.CUSTOMER ORDER BY ID LIMIT 9', {
    byHand: 'select customer.email from oracle.customer order by id limit 9',
  }),
  of(
    'spread over lines with comments',
    `select c.id -- from public.customer
    , /* public.address /* nested */ */ c.email from public /* here */ .
    customer -- there
    as c order by 1 limit 9`,
    { byHand: 'select id, email from oracle.customer order by 1 limit 9' },
  ),
  of(
    'with spaces and other letters',
    `select "Complaint"."No", "Back Office"."Complaint"."Written By", 'ü', "What Über"
    from "Back Office"."Complaint" order by 1`,
  ),
  of(
    'by code points',
    `select "No", "Written By" from U&"Back \\004Fffice".U&"Compl!0061int" uescape '!' order by 1`,
    {
      byHand: 'select "No", "Written By" from oracle."Complaint" order by 1',
    },
  ),
  of(
    'letters before the name',
    `select 'Zürich – 東京 😀' as "Straße", email from public.customer order by id limit 5`,
  ),
  of(
    'names in strings',
    `select 'public.customer', $$public.customer$$, $q$ from public.customer $q$, E'public.\\'customer', email from public.customer where id = 1`,
    {
      byHand: `select 'public.customer', $$public.customer$$, $q$ from public.customer $q$, E'public.\\'customer', email from oracle.customer where id = 1`,
    },
  ),
  of(
    'three parts',
    'select {database}.public.customer.email from {database}.public.customer order by id limit 7',
  ),
  of(
    'three parts, quoted',
    `select c.email, c.card from "{database}"."public"."customer" as c order by c.id limit 7`,
  ),
  of('only', 'select id, email from only public.customer order by id limit 7'),
  of('with a star', 'select public.customer.*, 1 as one from public.customer order by id limit 7'),
  of('columns renamed', 'select a, b from public.customer as c (a, store, first, b) order by a limit 7'),
  of(
    'a column named like a table',
    `select address from (select email as address from public.customer where id = 1) customer`,
  ),
  of(
    'an alias named like another masked table',
    'select staff.email from public.customer staff where staff.id < 4 order by staff.id',
  ),
  of(
    'an alias named like its schema',
    'select public.email from public.customer public where public.id < 4 order by public.id',
  ),
]

const listed = (count: number, item: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => item(at))
const id = (at: number) => `00000000-0000-4000-8000-${at.toString(16).padStart(12, 'abc')}`

/** As drivers write them that put values into the text, and as mappers ask for many keys at once. */
const lists: readonly Read[] = [
  of(
    'a long list of strings',
    `select id, email from public.customer where external_id::text in (${listed(1500, (at) => `'${id(at)}'`)}) or id in (3, 4) order by id`,
  ),
  of(
    'a longer list of numbers',
    `select id, card from public.customer where id in (${listed(20_000, (at) => `${at * 3}`)}) order by id`,
  ),
  of(
    'many parameters',
    `select id, card from customer where id in (${listed(3000, (at) => `$${at + 1}`)}) order by id`,
    { values: listed(3000, (at) => `${at * 2}`) },
  ),
  of(
    'many rows of values',
    `select c.email, v.label from (values ${listed(800, (at) => `(${at}, 'it''s label ${at}')`)}) v (id, label)
    join public.customer c on c.id = v.id order by c.id`,
  ),
]

/** Reads that PostgreSQL allows of a table by its primary key, and never of a view. */
export const readsByKey: readonly Read[] = [
  of(
    'groups by the primary key',
    `select c.id, c.first_name, c.email, count(r.id) as rentals from public.customer c
    left join rental r on r.customer_id = c.id group by c.id order by rentals desc, c.id limit 40`,
    {
      byHand: `select c.id, c.first_name, c.email, count(r.id) as rentals from oracle.customer c
      left join rental r on r.customer_id = c.id group by c.id, c.first_name, c.email order by rentals desc, c.id limit 40`,
    },
  ),
  of(
    'groups by the primary key, all columns',
    `select address.*, count(c.email) from address join public.customer c on c.address_id = address.id
    where c.id < 80 group by address.id order by address.id`,
    {
      byHand: `select a.*, (select count(c.email) from oracle.customer c where c.address_id = a.id and c.id < 80)
      from oracle.address a where a.id in (select address_id from oracle.customer where id < 80) order by a.id`,
    },
  ),
  of(
    'groups by two primary keys',
    `select c.id, last_name, a.phone, count(*) from public.customer c join address a on a.id = c.address_id
    join public.rental on rental.customer_id = c.id group by c.id, a.id having max(email) is not null order by last_name, c.id limit 50`,
    {
      byHand: `select c.id, last_name, a.phone, count(*) from oracle.customer c join oracle.address a on a.id = c.address_id
      join public.rental on rental.customer_id = c.id group by c.id, last_name, a.id, a.phone having max(email) is not null
      order by last_name, c.id limit 50`,
    },
  ),
]

export const reads: readonly Read[] = [...reports, ...spellings, ...lists]
