import {
  bait,
  holds,
  mallory,
  mask,
  note,
  operator,
  owner,
  turnCases,
  twinsCallNothing,
  victim,
} from '../turn-case.ts'

const client = 'hr.client.mail'
/** The owner shows an expression over what mallory may not read, by functions in mallory's reach. */
const show = (expression: string) =>
  `create view hr.both as select c.id, c.mail, ${expression} as shown from hr.client c join hr.secret s using (id);;
  grant select on hr.both to {mallory}, {victim}`
const define = (signature: string, result: string, body: string) =>
  `create function ${signature} returns ${result} language sql immutable as '${body}'`
const spied = (signature: string, result: string, value: string, told = 'v::text') =>
  `create function ${signature} returns ${result} language plpgsql as
    'begin perform pub.spy(${told}); return ${value}; end'`
const closed = mallory.isDenied('select shown from hr.both;; select shown from masked_hr."both"')
const open = victim.seesMasks('select * from masked_hr.client')
/** A twin uses what its relation uses, and nothing that a role adds beside it. */
export const foreignObjects = turnCases('any role, harm', ['ENF-350'], {
  'a function that fits better': [
    owner(define('app.show(v anyelement)', 'text', 'select left(v::text, 1)')),
    owner(show('app.show(s.word)')),
    mallory(spied('app.show(v text)', 'text', 'v')),
    mask(client),
    note('NoTwin hr.both: would use other objects than the view does'),
    ...[closed, open, twinsCallNothing],
    mask(client),
    note('NoTwin hr.both: would use other objects than the view does'),
    bait(`select app.show('x'::text)`),
    mallory('drop function app.show(text)'),
    // What PostgreSQL refused is tried again after ten minutes.
    operator(`update masquerade_guard.relation set updated_at = updated_at - interval '11 minutes'`),
    mask(client),
    victim.seesMasks('select id, mail, shown from masked_hr."both"'),
  ],
  'a function with a default that fits better': [
    owner(define('app.show(v anyelement)', 'text', 'select left(v::text, 1)')),
    owner(show('app.show(s.word)')),
    mallory(spied(`app.show(v text, w int default 1)`, 'text', 'v')),
    ...[mask(client), open, twinsCallNothing],
  ],
  'an operator that fits better': [
    owner(define('app.same(a anyelement, b anyelement)', 'boolean', 'select $1::text = $2::text')),
    owner('create operator app.=== (leftarg = anyelement, rightarg = anyelement, function = app.same)'),
    owner(show('s.word operator(app.===) s.word')),
    mallory(spied('app.spied(v text, w text)', 'boolean', 'true')),
    mallory('create operator app.=== (leftarg = text, rightarg = text, function = app.spied)'),
    ...[mask(client), closed, open, twinsCallNothing],
    bait(`select 'x'::text operator(app.===) 'x'::text`),
  ],
  'a cast beside an enum': [
    mallory(`create type lair.sex as enum ('good', 'bad')`),
    owner(show(`case s.word when 'x' then 'good'::lair.sex else 'bad'::lair.sex end`)),
    mallory(spied('lair.made(v text)', 'lair.sex', "''good''::lair.sex")),
    mallory('create cast (text as lair.sex) with function lair.made(text)'),
    ...[mask(client), closed, open, twinsCallNothing],
    bait(`select 'good'::text::lair.sex`),
  ],
  'a function that comes after the twin': [
    owner(define('app.show(v anyelement)', 'text', 'select left(v::text, 1)')),
    owner(show('app.show(s.word)')),
    mask(client),
    mallory(spied('app.show(v text)', 'text', 'v')),
    twinsCallNothing,
    operator('alter view hr.both rename column shown to seen'),
    ...[mask(`${client} hr.client.id`), twinsCallNothing],
  ],
  'a domain that takes the place of a function': [
    owner(define('app.norm(v anyelement)', 'text', 'select v::text')),
    mallory('create domain lair.code as text;; grant usage on type lair.code to public'),
    operator('alter table hr.client add code lair.code'),
    owner(show('app.norm(s.word)')),
    mask(client),
    mallory(`alter domain lair.code set schema app;; alter domain app.code rename to norm;;
      alter domain app.norm add check (pub.spy(value)) not valid`),
    operator('alter view hr.both rename column shown to seen'),
    ...[mask(`${client} hr.client.id`), twinsCallNothing],
  ],
})

/** The text of the view is the same, and what it calls is not. */
export const replaced = turnCases('any role, harm', ['ENF-350', 'ENF-360'], {
  'a view that calls another function': [
    owner(define('app.show(v anyelement)', 'text', `select ''any''::text`)),
    owner(show('app.show(s.word)')),
    mask(client),
    holds(`select shown = 'any' from masked_hr."both"`),
    owner(define('app.show(v text)', 'text', `select ''text''::text`)),
    owner(show('app.show(s.word)').replace('create', 'create or replace')),
    mask(client),
    holds(`select shown = 'text' from masked_hr."both"`),
  ],
  'a view that calls another operator': [
    owner(define('app.same(a anyelement, b anyelement)', 'boolean', 'select true')),
    owner('create operator app.=== (leftarg = anyelement, rightarg = anyelement, function = app.same)'),
    owner(show('s.word operator(app.===) s.word')),
    mask(client),
    holds('select shown from masked_hr."both"'),
    owner(define('app.differ(a text, b text)', 'boolean', 'select false')),
    owner('create operator app.=== (leftarg = text, rightarg = text, function = app.differ)'),
    owner(show('s.word operator(app.===) s.word').replace('create', 'create or replace')),
    mask(client),
    holds('select not shown from masked_hr."both"'),
  ],
})

export const impostors = turnCases('any role, harm', ['ENF-158'], {
  'a cast to an enum, under a domain with a check': [
    mallory(`create type lair.calm as enum ('calm');;
      ${spied('lair.spring(v text)', 'lair.calm', "''calm''::lair.calm")};;
      create cast (text as lair.calm) with function lair.spring(text);;
      create domain lair.calmer as lair.calm check (value is not null);; create table lair.own (v lair.calmer);;
      insert into lair.own values ('calm')`),
    mask(`${client} lair.own.v`),
    holds('select v is null from masked_lair.own'),
    twinsCallNothing,
    bait(`select ('calm'::text)::lair.calm`),
  ],
  'a type that calls itself citext': [
    mallory(`create schema aside;; grant usage on schema aside to public;;
      create type aside.address as (street text, town text);; create extension citext schema lair`),
    operator(
      `alter table hr.client add home aside.address;; update hr.client set home = row('zqcanary', 'Bern')`,
    ),
    mallory(`alter type aside.address rename to citext;; alter extension citext add type aside.citext;;
      ${spied('aside.leak(v aside.citext)', 'text', "''x''", 'v.street')};;
      create cast (aside.citext as text) with function aside.leak(aside.citext);;
      ${spied('aside.make(v text)', 'aside.citext', 'null')};; create cast (text as aside.citext)
      with function aside.make(text)`),
    mask(`${client} hr.client.home`),
    twinsCallNothing,
    holds('select home is null from masked_hr.client'),
    mallory('alter extension citext drop type aside.citext;; drop extension citext'),
    operator('alter table hr.client drop home cascade'),
    mask(client),
  ],
})

export const ordinaryTwins = turnCases('any role, harm', ['ENF-350', 'ENF-61'], {
  'types, collations and operators of many kinds': {
    // Its view chooses rows by masked columns.
    since: 15,
    steps: [
      operator('create extension citext schema app;; create extension hstore schema app'),
      owner(`${define('app.show(v text)', 'text', 'select left(v, 1)')};;
      ${define('app.long(v text)', 'boolean', 'select length(v) > 1')};; create type app.mood as enum ('good', 'bad');;
      create domain app.code as text check (value <> 'no');; create domain app.narrow as app.citext;;
      create type app.place as (street text, town text);; create type app.span as range (subtype = text);;
      create collation app.german (provider = icu, locale = 'de', deterministic = false)`),
      owner(`create table hr.wide (id int primary key, mood app.mood, moods app.mood[], code app.code, codes app.code[],
      narrow app.narrow, mail app.citext, mails app.citext[], place app.place, places app.place[], span app.span,
      pairs app.hstore, name text collate app.german, short varchar(5),
      short_name text generated always as (left(name, 1)) stored);;
      insert into hr.wide (id, mood, code, narrow, mail, pairs, name) values (1, 'bad', 'x', 'n', 'm', 'a=>1', 'e');;
      grant select on hr.wide to {victim};; alter table hr.wide enable row level security;;
      create policy every on hr.wide using (true)`),
      owner(`create view hr.many as select w.*, w as whole, array[w] as wholes, (w).code as again,
      app.show(w.code) as shown, w.mail operator(app.=) 'M'::app.citext as same,
      w.mail operator(app.=) any (array['a'::app.citext, 'b'::app.citext]) as listed,
      w.mail is distinct from 'q'::app.citext as other, w.pairs operator(app.->) 'a'::text as pair,
      w.pairs operator(app.@>) 'a=>1'::app.hstore as held, 'bad'::app.mood as constant,
      array['good', 'bad']::app.mood[] as constants, 'yes'::app.code as checked, (w.place).street,
      row('a', 'b')::app.place as built, app.show(w.name collate app.german) as first, s.word
      from hr.wide w left join hr.secret s on s.id = w.id and app.long(s.word)
      where w.mail operator(app.<>) 'q'::app.citext and app.long(w.code) is not null order by w.mail, w.narrow;;
      create view hr.above as select id, mail, app.show(code) || app.show(word) as shown,
      max(mail) over (partition by mood) from hr.many where app.long(shown) is not null;;
      grant select on hr.many, hr.above, hr.secret to {victim}`),
      mask(
        `mood moods code codes narrow mail mails place places span pairs name short short_name`
          .split(' ')
          .map((column) => `hr.wide.${column}`)
          .join(' '),
      ),
      victim.seesMasks(
        'select count(*) from masked_hr.wide;; select count(*) from masked_hr.many;; select count(*) from masked_hr.above',
      ),
    ],
  },
})
