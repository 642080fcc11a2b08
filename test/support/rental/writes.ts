export interface Write {
  readonly name: string
  readonly text: string
  /** With the masks written by hand: targets are the tables, and reads the views. */
  readonly byHand: string
  readonly since?: number
}

/** The text is written once. What it reads stands in «», and ‹› marks targets without a schema. */
const of = (name: string, text: string, since = 0): Write => ({
  name,
  text: text.replaceAll('«', 'public.').replaceAll(/[»‹›]/g, ''),
  byHand: text.replaceAll('«', 'oracle.').replaceAll('‹', 'public.').replaceAll(/[»›]/g, ''),
  since,
})

export const writes: readonly Write[] = [
  of(
    'INSERT … SELECT',
    `insert into public.ledger (id, customer_id, note, amount) select c.id, c.id, c.email, c.loyalty from «customer» c
     where c.id < 60 returning id, note`,
  ),
  of(
    'UPDATE … FROM … RETURNING',
    `update public.ledger l set note = c.card from «customer» c where c.id = l.customer_id and c.id < 30
     returning l.id, l.note, c.email, c.born`,
  ),
  of(
    'UPDATE … FROM a join',
    `update ledger set note = a.phone from «customer» c join «address» a on a.id = c.address_id
     where c.id = ledger.customer_id and ledger.id between 30 and 40 returning ledger.*, a.phone`,
  ),
  of(
    'UPDATE of several columns by a subquery',
    `update public.ledger set (note, amount) = (select s.ssn, s.id from «staff» s where s.id = 1 + ledger.id % 20)
     where ledger.id between 41 and 45 returning note`,
  ),
  of(
    'INSERT … ON CONFLICT',
    `insert into public.ledger (id, note) select id, full_name from «customer» where id between 55 and 65
     on conflict (id) do update set note = excluded.note || '!' where ledger.id > 57 returning id, note`,
  ),
  of(
    'DELETE … USING',
    `delete from public.ledger using «customer» c where c.id = ledger.customer_id and c.email is null returning ledger.id, c.card`,
  ),
  of(
    'DELETE by a subquery',
    `delete from ledger where customer_id in (select id from «customer» where last_name = 'A***') returning id`,
  ),
  of(
    'a common table that writes',
    `with gone as (delete from public.ledger where id > 60 returning *), customer as (select id, email from «customer»)
     insert into public.ledger (id, note) select 1000 + gone.id, c.email from gone join customer c on c.id = gone.id - 1 returning id, note`,
  ),
  of(
    'MERGE',
    `merge into public.ledger l using (select id, email from «customer» where id between 50 and 70) c on l.id = c.id
     when matched and l.id > 55 then update set note = c.email || '?' when matched then delete
     when not matched then insert (id, note) values (c.id, c.email)`,
  ),
  of(
    'MERGE with a table as its source',
    `merge into public.ledger using «staff» on public.ledger.id = «staff».id
     when matched then update set note = «staff».ssn`,
  ),
  of(
    'MERGE … RETURNING',
    `merge into ledger l using «customer» c on c.id = l.id when matched then update set amount = 1 returning merge_action(), l.id, c.email`,
    17,
  ),
  of(
    'UPDATE of a masked table',
    'update public.customer set active = false where id = 5 returning id, active',
  ),
  of(
    'UPDATE of a masked column',
    "update ‹customer› set email = 'new@mail.example', last_name = 'New' where id = 6",
  ),
  of(
    'UPDATE of a masked table by another look at it',
    `update public.customer c set first_name = upper(c.first_name) from «customer» d
     where d.id = c.id and d.email = 'sXXX@XXXX.com' and c.id < 9 returning c.id, c.first_name, d.card`,
  ),
  of(
    'UPDATE by its whole name',
    'update {database}.public.customer set store_id = 2 where public.customer.id = 8 returning {database}.public.customer.id',
  ),
  of(
    'INSERT into a masked table',
    `insert into public.customer (id, store_id, first_name, last_name, email, card, address_id)
     select 900 + id, 1, first_name, 'Own-' || id, 'own' || id || '@mail.example', '4242-4242-4242-000' || id, 1 from «staff» where id < 4
     returning id, first_name`,
  ),
  of(
    'an upsert of a masked table',
    `insert into public.customer (id, store_id, first_name, last_name, address_id) values (901, 1, 'Again', 'X', 2)
     on conflict (id) do update set first_name = excluded.first_name, last_name = 'Y' returning id, first_name`,
  ),
  of('DELETE from a masked table', 'delete from public.customer where id > 900 returning id'),
  of(
    'DELETE from partitions',
    'delete from ‹payment› where customer_id = 12 and amount < 1 returning id, amount',
  ),
  of(
    'a quoted target',
    `insert into "Back Office"."Complaint" select 500 + id, id, 'own' || id || '@mail.example', email from «customer» where id < 4 returning "No", "What Über"`,
  ),
]

/** Tables whose rows are compared after each of them. */
export const written = ['public.ledger', 'public.customer', 'public.payment', '"Back Office"."Complaint"']

/** Statements that the database must deny to a masked role. */
export const denied: readonly string[] = [
  'update public.customer set last_name = upper(last_name) where id = 1',
  "delete from customer where email = 'secret1@mail.example'",
  "update customer set active = true where card like '4111%'",
  `insert into public.customer (id, store_id, first_name, last_name, address_id) values (990, 1, 'a', 'b', 1) returning *`,
  `insert into customer (id, store_id, first_name, last_name, address_id) values (990, 1, 'a', 'b', 1) returning last_name`,
  'delete from public.customer where id = 1 returning card',
  `insert into public.customer (id, store_id, first_name, last_name, address_id) values (1, 1, 'a', 'b', 1)
    on conflict (id) do update set first_name = customer.email`,
  `insert into public.customer (id, store_id, first_name, last_name, address_id) values (1, 1, 'a', 'b', 1)
    on conflict (id) do update set last_name = excluded.last_name`,
  `merge into public.customer c using public.staff s on c.email = s.email when matched then delete`,
  'update public.customer c set first_name = c.email from public.customer d where d.id = c.id',
  'select id, email from public.customer where id = 1 for update',
  "select id from public.customer where card like '4%' for no key update skip locked",
  'select email from public.customer tablesample bernoulli (50)',
  'select * from raw_cards()',
  'select card_of(17)',
  'do $$ begin perform email from public.customer; end $$',
]

/** The same over the table itself, by columns that are not masked. */
export const allowed: readonly string[] = [
  'select id, first_name from public.customer where id < 4 order by id for update',
  'select c.id, t.name from public.customer c join public.city t on t.id = c.id order by c.id limit 3 for share of c skip locked',
  `with next as (select id from public.customer where active order by id limit 2 for update skip locked)
    update public.customer set active = true from next where next.id = public.customer.id returning public.customer.id`,
  'select count(*) from public.customer tablesample bernoulli (100)',
]
