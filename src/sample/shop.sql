-- A small shop with made-up customers. The card numbers are of a range that is kept for tests, the social security
-- numbers of one that is never given to anybody, the telephone numbers of one that is reserved for fiction.

create table customers (
  id integer primary key,
  first_name text not null,
  last_name text not null,
  email varchar(80) not null unique,
  phone varchar(20) not null,
  birth_date date not null,
  ssn char(11) not null,
  city text not null,
  since date not null
);
create table cards (
  id integer primary key,
  customer_id integer not null references customers,
  number varchar(19) not null,
  expires date not null
);
create table orders (
  id integer primary key,
  customer_id integer not null references customers,
  ordered_at timestamptz not null,
  total numeric(9, 2) not null,
  status text not null
);
create table staff (
  id integer primary key,
  first_name text not null,
  last_name text not null,
  email varchar(80) not null,
  job text not null,
  salary integer not null
);
create view best_customers as
  select c.id, c.first_name, c.last_name, c.email, sum(o.total) as spent
  from customers c join orders o on o.customer_id = c.id
  group by c.id, c.first_name, c.last_name, c.email order by spent desc limit 100;

-- Repeatable: the same shop on every machine.
select setseed(0.42);

insert into customers
select id, first_name, last_name, lower(first_name || '.' || last_name) || id || '@example.com',
  '+1-' || lpad((200 + id * 7 % 700)::text, 3, '0') || '-555-01' || lpad((id % 100)::text, 2, '0'),
  date '1945-01-01' + (random() * 22000)::integer,
  (900 + id % 99)::text || '-' || lpad((10 + id * 13 % 89)::text, 2, '0') || '-' || lpad((id * 7919 % 10000)::text, 4, '0'),
  city, date '2015-01-01' + (random() * 4000)::integer
from (
  select id,
    (array['Ada', 'Ben', 'Chloe', 'Dario', 'Elif', 'Femi', 'Greta', 'Hugo', 'Ines', 'Jonas', 'Keiko', 'Luca', 'Mara', 'Nils',
      'Olga', 'Priya', 'Quinn', 'Rosa', 'Sven', 'Tala', 'Umar', 'Vera', 'Wim', 'Xenia', 'Yusuf', 'Zoe'])[1 + id * 17 % 26] as first_name,
    (array['Abara', 'Brandt', 'Costa', 'Dubois', 'Eriksen', 'Ferrari', 'Gruber', 'Horvat', 'Ivanova', 'Jansen', 'Kowalski',
      'Lindgren', 'Moreau', 'Novak', 'Okafor', 'Petrov', 'Quiroga', 'Rossi', 'Silva', 'Tanaka', 'Ueda', 'Vargas', 'Weber'])[1 + id * 31 % 23] as last_name,
    (array['Aarhus', 'Bergen', 'Cork', 'Delft', 'Essen', 'Faro', 'Ghent', 'Haifa', 'Izmir', 'Jena'])[1 + id * 7 % 10] as city
  from generate_series(1, 3000) as id
) as made_up;

insert into cards
select id, id, '4000-00' || lpad((id % 100)::text, 2, '0') || '-' || lpad((id * 37 % 10000)::text, 4, '0') || '-' || lpad((id * 7907 % 10000)::text, 4, '0'),
  date '2027-01-31' + (id % 48) * 30
from generate_series(1, 3000) as id;

insert into orders
select id, 1 + (random() * 2999)::integer, timestamptz '2025-01-01 00:00+00' + random() * interval '600 days',
  round((5 + random() * 400)::numeric, 2), (array['paid', 'shipped', 'delivered', 'returned'])[1 + id % 4]
from generate_series(1, 8000) as id;

insert into staff
select id, (array['Anke', 'Bruno', 'Carla', 'David', 'Emma', 'Farid', 'Gina', 'Henk'])[1 + id % 8],
  (array['Maas', 'Nunes', 'Olsen', 'Papp', 'Reyes', 'Stone', 'Toth'])[1 + id % 7], 'staff' || id || '@shop.example',
  (array['sales', 'support', 'warehouse', 'finance'])[1 + id % 4], 28000 + (id * 977 % 60) * 1000
from generate_series(1, 40) as id;
