import { mallory, mask, note, operator, owner, type Step, turnCases, victim } from '../turn-case.ts'

const client = 'hr.client.mail'
/** Different numbers, as PostgreSQL compresses what repeats, more of it from version to version. */
const numbers = Array.from({ length: 5000 }, (_, at) => (at * 7919) % 100_003)
const large = `as select ${['length(mail)', ...numbers].join(' + ')} as sum from hr.client`
/** 28 levels of views that read both of the level below, as invoker where `option` says so: 2^28 ways to the table. */
const tower = (option: string) =>
  Array.from({ length: 28 }, (_, at) =>
    ['a', 'b'].map((side) => {
      const [one, other] = at === 0 ? ['hr.client', 'hr.client'] : [`lair.a${at - 1}`, `lair.b${at - 1}`]
      return `create view lair.${side}${at} ${option} as select x.* from ${one} x, ${other} y`
    }),
  )
    .flat()
    .join(';; ')

export const towers = turnCases('contained', ['ENF-67'], {
  'views that are too large': [
    mallory(`create view lair.large ${large};; grant select on lair.large to public`),
    owner(`create view hr.large ${large};; create view hr.small as select mail from hr.client;;
      grant select on hr.large, hr.small to {victim}`),
    mask('hr.client.mail hr.pay.salary'),
    note('NoTwin hr.large'),
    victim.isDenied('select * from hr.large;; select mail from hr.small'),
    victim.seesMasks('select mail from masked_hr.small;; select salary from masked_hr.pay'),
  ],
  'views that are reached by very many ways': [
    mallory(tower('')),
    mask(client),
    victim.seesMasks('select mail from masked_hr.client'),
    mallory.isDenied('select mail from hr.client'),
  ],
  'views as invoker that are reached by very many ways': {
    since: 15,
    steps: [
      mallory(tower('with (security_invoker)')),
      mask(client),
      victim.seesMasks('select mail from masked_hr.client'),
      mallory.isDenied('select mail from hr.client'),
    ],
  },
})

export const unprintable = turnCases('contained', ['ENF-68'], {
  'a view in a schema that is closed to its owner': [
    mallory(`create schema aside;; create view aside.v as select id, mail from hr.client;;
      grant usage on schema aside to {victim};; grant select on aside.v to {victim};;
      revoke all on schema aside from {mallory}`),
    mask(client),
    mallory.isDenied('select mail from hr.client'),
    victim.isDenied('select mail from aside.v'),
    victim.seesMasks('select mail from masked_hr.client'),
  ],
  'a view over a type that is gone': [
    mallory('create table lair.lost (id int)'),
    owner(`create view hr.broken as select id, cardinality(array[]::lair.lost[]) as n from hr.client;;
      create view hr.rows as select id, mail from hr.client;; grant select on hr.broken, hr.rows to {victim}`),
    mask(client),
    victim.seesMasks('select n from masked_hr.broken'),
    mallory('drop table lair.lost'),
    mask(`${client} hr.client.id`),
    victim.seesMasks('select id, mail from masked_hr.client;; select id, mail from masked_hr.rows'),
    victim.isDenied('select * from hr.broken'),
  ],
})

const people = `create table hr.people (id int, name text, vip boolean, level int, mail text);;
  insert into hr.people values (1, 'ann', false, 1, 'zqcanary'), (2, 'secret person', true, 9, 'zqcanary');;
  create table hr.cars (plate text, driver int);; insert into hr.cars values ('secret plate', 2), ('plate', 1);;
  grant select on hr.people, hr.cars to {victim}`
const hidden = 'hr.people.vip hr.people.level hr.people.mail'
/** Mallory reads the view alone, the victim also what it reads. The text of what the view hides is `secret`. */
const view = (body: string, first = '') => ({
  since: 15,
  steps: [
    owner(
      `${people};; ${first} create view hr.shown as ${body};; grant select on hr.shown to {mallory}, {victim}`,
    ),
    mask(hidden),
    mallory.isDenied('select * from masked_hr.shown'),
    note('ReadsAsReader hr.shown'),
    victim.seesMasks('select count(*) from masked_hr.shown'),
  ],
})
/** It hides nothing by masked columns. */
const plain = (body: string, first = ''): readonly Step[] => [
  owner(`${people};; ${first} create view hr.shown as ${body};; grant select on hr.shown to {mallory}`),
  mask(hidden),
  mallory.seesMasks('select * from masked_hr.shown'),
]
const inner = 'create view hr.inner as select id, name, vip, level from hr.people;;'
const few =
  'create view hr.few as select id, name from hr.people where not vip;; grant select on hr.few to {victim};;'

/** A view hides rows and values by a masked column, which its twin cannot look at. */
export const choosing = turnCases('any role, harm', ['ENF-559'], {
  'rows by WHERE': view('select id, name from hr.people where not vip'),
  'rows by a join': view('select c.plate from hr.people p join hr.cars c on c.driver = p.id and not p.vip'),
  'rows by a join with USING': view(
    'select name, hurdle.id from hr.people join (select 1 as level, 2 as id) hurdle using (level)',
  ),
  'rows by renamed columns': view('select a, b from hr.people p (a, b, c) where not c'),
  'groups by HAVING': view('select name from hr.people group by name having not bool_or(vip)'),
  'merged groups by HAVING': view(
    'select max(name) as name from hr.people group by level having count(*) > 1',
  ),
  'rows by DISTINCT ON': view(
    'select distinct on (level / 100) name from hr.people order by level / 100, level',
  ),
  'rows by order and limit': view('select name from hr.people order by level limit 1'),
  'rows by the order of a union and limit': view(
    `(select name, level from hr.people union all select 'x', 0) order by 2 limit 2`,
  ),
  'rows by a subquery': view(
    'select plate from hr.cars where driver in (select id from hr.people where not vip)',
  ),
  'rows by WITH': view(
    'with few as (select id, name, vip from hr.people) select name from few where not vip',
  ),
  'rows by EXCEPT': view('select name, vip from hr.people except select name, true from hr.people'),
  'rows by a function of sets': view('select name, generate_series(1, 5 - level) as n from hr.people'),
  'values by CASE': view('select id, case when vip then null else name end as name from hr.people'),
  'values by NULLIF': view(`select nullif(name, left(mail, 0) || 'ann') as name from hr.people`),
  'values by COALESCE': view('select coalesce(nullif(mail, mail), name) as name from hr.people'),
  'values by a subscript': view('select (array[name])[level] as name from hr.people'),
  'values by FILTER': view('select max(name) filter (where not vip) as name from hr.people'),
  'values by the order of an aggregate': view(
    'select (array_agg(name order by level))[1] as name from hr.people',
  ),
  'values by a window': view('select max(name) over (partition by level) as name from hr.people'),
  'values by a scalar query': view(
    'select id, (select plate from hr.cars where driver = p.id + p.level - 1) as plate from hr.people p',
  ),
  'rows by a column of another view': view(
    'select name from hr.inner where not vip',
    `${inner} grant select on hr.inner to {victim};;`,
  ),
  'values out of what another view puts together': view(
    `select o ->> 'name' as name, case when (o ->> 'vip')::boolean then '' else o ->> 'name' end as shown from hr.inner`,
    `create view hr.inner as select json_build_object('name', name, 'vip', vip) as o from hr.people;;
      grant select on hr.inner to {victim};;`,
  ),
  'values out of a union of another view': view(
    `select nullif(word, 'ann') as word from hr.inner`,
    `create view hr.inner as select mail as word from hr.people union all select name from hr.people;;
      grant select on hr.inner to {victim};;`,
  ),
  'the first of what another view orders': view(
    'select names[1] as name from hr.inner',
    `create view hr.inner as select array_agg(name order by level) as names from hr.people;;
      grant select on hr.inner to {victim};;`,
  ),
  'rows of another view': view('select * from hr.few', few),
  'rows of another view as invoker': view(
    'select * from hr.few',
    few.replace('as', 'with (security_invoker) as'),
  ),
  'rows of a view that changes': {
    since: 15,
    steps: [
      owner(`${people};; ${inner} create view hr.shown as select id, name from hr.inner;;
        grant select on hr.shown to {mallory}`),
      mask(hidden),
      mallory.seesMasks('select * from masked_hr.shown'),
      owner('create or replace view hr.inner as select id, name, vip, level from hr.people where not vip'),
      mask(hidden),
      mallory.isDenied('select * from masked_hr.shown'),
      owner('create or replace view hr.inner as select id, name, vip, level from hr.people'),
      mask(hidden),
      mallory.seesMasks('select * from masked_hr.shown'),
    ],
  },
  'rows by a column that is masked later': {
    since: 15,
    steps: [
      owner(`${people};; create view hr.shown as select name, mail from hr.people where level < 5;;
        grant select on hr.shown to {mallory}`),
      mask('hr.people.mail'),
      mallory.seesMasks('select * from masked_hr.shown'),
      mask(hidden),
      mallory.isDenied('select * from masked_hr.shown'),
    ],
  },
  'rows of a table in a schema that is closed': {
    since: 15,
    steps: [
      owner(`${people};; grant select on hr.people to {mallory};;
        create view app.shown as select name from hr.people where not vip;; grant select on app.shown to {mallory}`),
      operator('revoke usage on schema hr from public;; grant usage on schema hr to {owner}, {victim}'),
      mask(hidden),
      mallory(
        `do $$ begin if exists (select from masked_app.shown) then raise 'there are rows'; end if; end $$`,
      ),
    ],
  },
  'rows by order': view('select name from hr.people order by level'),
  'groups by a masked column': view(
    'select (array_agg(name order by id))[3] as name from hr.people group by level',
  ),
  'aggregates of groups by a masked column': view(
    `select case when count(*) > 1 then max(name) end as name from hr.people group by level`,
  ),
  'rows that DISTINCT merges': view('select distinct level, name from hr.people'),
  'rows that a union merges': view(`select level, name from hr.people union select 1, 'x'`),
  'columns as they are': plain('select * from hr.people where id > 0 order by id'),
  'expressions of masked columns': plain(
    `select name, upper(mail) as loud, case when vip then 'x' else 'y' end as word from hr.people`,
  ),
  'constructors of values': plain(
    `select json_build_object('name', name, 'mail', mail) as o, name || mail as both, row(id, vip)::text as pair, p as whole,
      array[name, mail] as list from hr.people p`,
  ),
  aggregates: plain('select max(name) as name, count(level) as n, max(mail) as mail from hr.people'),
  'groups by open columns': plain('select name, max(mail) from hr.people group by name having count(*) > 0'),
  'unions and joins by open columns': plain(
    `select p.mail, c.plate from hr.people p join hr.cars c on c.driver = p.id union all select mail, 'x' from hr.people`,
  ),
  'open columns of another view': plain('select name, vip from hr.inner where id < 5 limit 3', inner),
})

const policed = `alter table hr.people enable row level security;; create policy few on hr.people using (id > 1);;`

/** A twin shows other rows than its view, whatever the view does with masked columns. */
export const otherRows = turnCases('any role, harm', ['ENF-573'], {
  'a view whose owner reads past row policies': view(
    'select name from hr.people order by id limit 1',
    policed,
  ),
  'what row policies leave out': view(
    'select plate from hr.cars c where not exists (select from hr.people p where p.id = c.driver)',
    policed,
  ),
  'a count of rows with policies': view(
    'select plate from hr.cars where driver = (select count(*) from hr.people)',
    policed,
  ),
  'a function of a masked column': view(
    'select hr.look(level) as name from hr.people',
    `create function hr.look(int) returns text language sql stable security definer set search_path = hr
      as 'select name from people where id = $1 + 2';;`,
  ),
  'a materialized view of before': {
    since: 15,
    steps: [
      owner(`${people};; create materialized view hr.shown as select id, name, mail from hr.people;;
        insert into hr.people values (3, 'secret news', true, 1, 'zqcanary');;
        grant select on hr.shown to {mallory}, {victim}`),
      mask(hidden),
      mallory.isDenied('select * from masked_hr.shown'),
      note('ReadsAsReader hr.shown'),
      victim.seesMasks('select count(*) from masked_hr.shown'),
    ],
  },
})
