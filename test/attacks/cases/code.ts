import { bait, mallory, mask, meanwhile, operator, owner, turnCases, victim } from '../turn-case.ts'

const client = 'hr.client.mail'
const define = (signature: string, result: string, body: string) =>
  `create function ${signature} returns ${result} language sql immutable as '${body}'`
const spied = (signature: string, result: string, value: string, told = 'v::text') =>
  `create function ${signature} returns ${result} language plpgsql as
    'begin perform pub.spy(${told}); return ${value}; end'`
const open = victim.seesMasks('select * from masked_hr.client')
const word = `create domain lair.word as text check (pub.spy(value));; create type lair.pair as (a lair.word, b int);;
  create type lair.words as range (subtype = lair.word);; create type lair.mood as enum ('(1)', 'sad')`
const lure = (literal: string) =>
  `create view hr.lure as select ${literal} as lure, id, mail from hr.client;; grant select on hr.lure to {mallory}`
const noLure = mallory.isDenied('select mail from hr.lure')

/** Nothing of a role is parsed, planned or evaluated as the binding. */
export const foreignCode = turnCases('any role, harm', ['ENF-219'], {
  'a literal of an array over a domain': [
    mallory(word),
    owner(lure(`'{x}'::lair.word[]`)),
    ...[mask(client), noLure, bait(`select '{x}'::lair.word[]`)],
  ],
  'a literal of a row with a domain': [
    mallory(word),
    owner(lure(`'(é,1)'::lair.pair`)),
    ...[mask(client), noLure, bait(`select '(é,1)'::lair.pair`)],
  ],
  'a literal of a range over a domain': [
    mallory(word),
    owner(lure(`'[a,b]'::lair.words`)),
    ...[mask(client), noLure, bait(`select '[a,b]'::lair.words`)],
  ],
  'a literal in a row policy': [
    mallory(word),
    mallory(`create table lair.own (id int, mail text);; insert into lair.own values (1, 'x');;
      alter table lair.own enable row level security;; create policy all_of on lair.own using (true);;
      create policy few on lair.own as restrictive to {victim} using ('{x}'::lair.word[] is not null);;
      grant select on lair.own to {victim}`),
    mask(`${client} lair.own.mail`),
    victim.isDenied('select mail from lair.own'),
  ],
  'a check of the domain of a masked column': [
    mallory('create domain lair.spied as text check (pub.spy(value))'),
    mallory('create table lair.own (id int, code lair.spied);; grant select on lair.own to {victim}'),
    mask(`${client} lair.own.code`),
    victim.isDenied('select code from lair.own'),
    bait(`select 'x'::lair.spied`),
  ],
  'a check that a subquery hides': [
    mallory(define('lair.calm(v text)', 'boolean', 'select pub.spy(v)')),
    mallory('create domain lair.spied as text check (lair.calm(value) or value is null)'),
    mallory('create table lair.own (id int, code lair.spied)'),
    mask(`${client} lair.own.code`),
    bait(`select 'x'::lair.spied`),
  ],
  'a domain over a domain': [
    mallory('create domain lair.inner as text check (pub.spy(value))'),
    mallory(`create domain lair.outer as lair.inner check (value <> 'x')`),
    mallory('create table lair.own (id int, code lair.outer)'),
    mask(`${client} lair.own.code`),
    bait(`select 'y'::lair.outer`),
  ],
  'an array of a domain, masked': [
    mallory(`${word};; create table lair.own (id int, codes lair.word[], whole lair.pair, few lair.words)`),
    mask(`${client} lair.own.codes lair.own.whole lair.own.few`),
  ],
  'a cast to text': [
    mallory(`${word};; ${spied('lair.told(v lair.mood)', 'text', "''x''", "''told''")}`),
    mallory('create cast (lair.mood as text) with function lair.told(lair.mood) as implicit'),
    mallory(`create table lair.own (id int, mood lair.mood);; insert into lair.own values (1, 'sad')`),
    mask(`${client} lair.own.mood`),
    bait(`select 'sad'::lair.mood::text`),
  ],
  'an operator before one of the server': [
    mallory(spied('public_equal(v text, w text)', 'boolean', 'true').replace('public_equal', 'lair.equal')),
    mallory('create operator lair.= (leftarg = text, rightarg = text, function = lair.equal)'),
    operator('alter role {binder} set search_path = lair, pg_catalog'),
    mask(client),
    open,
    operator('alter role {binder} reset search_path'),
  ],
  'expressions of a masked table': [
    mallory(define('lair.see(v text)', 'text', 'select case when pub.spy(v) then v end')),
    mallory(`create table lair.own (id int, mail text default lair.see('d'),
    low text generated always as (lair.see(mail)) stored,
      check (lair.see(mail) is not null));; create index on lair.own (lair.see(mail));;
      create index on lair.own (id) where lair.see(mail) = 'x';; insert into lair.own values (1, 'x');;
      create statistics lair.s on lair.see(mail), id from lair.own;; grant select on lair.own to {victim}`),
    mask(`${client} lair.own.mail`),
    victim.isDenied('select mail from lair.own;; select low from lair.own'),
    bait(`insert into lair.own values (2, 'y')`),
  ],
  'a partition key': [
    mallory(define('lair.see(v text)', 'text', 'select case when pub.spy(v) then v end')),
    mallory(`create table lair.own (id int, mail text) partition by list (lair.see(mail));;
      create table lair.part partition of lair.own default;; insert into lair.own values (1, 'x')`),
    mask(`${client} lair.own.mail`),
    bait(`insert into lair.own values (2, 'y')`),
  ],
  'triggers and rules': [
    mallory(`create table lair.own (id int, mail text);; create function lair.fire() returns trigger language plpgsql as
      'begin perform pub.spy(''fired''); return new; end';; create trigger t before insert or update or delete on
      lair.own
      for each statement execute function lair.fire();; create rule r as on update to lair.own do also select
      pub.spy('r')`),
    mask(`${client} lair.own.mail`),
    bait(`insert into lair.own values (2, 'y')`),
  ],
  'views that call': [
    mallory(`create view lair.eye as select id, mail, pub.spy(mail) as seen from hr.client;;
      create materialized view lair.kept as select pub.spy(mail) from hr.client with no data;;
      create function lair.rows() returns setof text language plpgsql as
      'begin perform pub.spy(''r''); return next ''x''; end';;
      create view lair.called as select mail from hr.client, lair.rows();;
      grant select on all tables in schema lair to public`),
    mask(client),
    mallory.isDenied(
      'select * from lair.eye;; select * from lair.called;; refresh materialized view lair.kept',
    ),
    victim.isDenied('select * from lair.eye;; select * from masked_lair.eye'),
    bait('select * from lair.rows()'),
  ],
  'an index of a view that calls': {
    since: 15,
    steps: [
      mallory(`create view lair.eye with (security_invoker) as select id, pub.spy(mail) as seen, mail from hr.client;;
        grant select on lair.eye to public`),
      mask(client),
      victim.isDenied('select seen from lair.eye'),
    ],
  },
  'names of the server in a schema of the path': [
    mallory(`create function lair.left(v text, n int) returns text language sql as 'select pub.spy(v)::text';;
      create function lair.format(f text, variadic v text[]) returns text language sql as 'select pub.spy(f)::text';;
      create function lair.quote_ident(v text) returns text language sql as 'select pub.spy(v)::text';;
      create table lair.pg_class (oid oid);; create table lair.pg_roles (oid oid);;
      create domain lair.text as varchar`),
    operator('alter database {database} set search_path = lair, pg_catalog'),
    mask(client),
    open,
    operator('alter database {database} reset search_path'),
  ],
})

export const callsOfTwins = turnCases('any role, harm', ['ENF-219'], {
  'a literal that a function takes': [
    mallory(`${word};; create aggregate lair.a(variadic "any") (sfunc = concat_ws, stype = text)`),
    owner(`create view hr.lure as select lair.a('{x}', null::lair.word[]) as lure, max(mail) as mail from hr.client;;
      grant select on hr.lure to {mallory}`),
    mallory(
      `create function lair.a(lair.word[], lair.word[]) returns text language sql as 'select ''y''::text'`,
    ),
    ...[mask(client), noLure, open],
    mallory.isDenied('select * from masked_hr.lure'),
  ],
  'a row that a function takes': [
    mallory(`${word};; create aggregate lair.a(variadic "any") (sfunc = concat_ws, stype = text)`),
    owner(`create view hr.lure as select lair.a(row('x', 1), null::lair.pair) as lure, max(mail)
    as mail from hr.client;;
      grant select on hr.lure to {mallory}`),
    mallory(`create function lair.a(lair.pair, lair.pair) returns text language sql as 'select ''y''::text'`),
    ...[mask(client), noLure, open],
    mallory.isDenied('select * from masked_hr.lure'),
  ],
  'literals that functions of the server take': [
    owner(`create view hr.usual as select concat('a', id, 'b') as a, jsonb_build_object('k', id, 'l', row('x')) as b,
      format('%s', 'c') as c, extract(year from date '2020-01-01') as d, concat_ws('-', 'e', 'f') as e,
      xmlelement(name e, xmlattributes('g' as h), 'i')::text as f, mail from hr.client;;
      grant select on hr.usual to {victim}`),
    mask(client),
    victim.seesMasks('select * from masked_hr.usual'),
  ],
})

export const exchanged = turnCases('any role, harm', ['ENF-158'], {
  'a type in the place of an enum': [
    mallory(word),
    operator(`alter table hr.client add mood lair.mood default 'sad'`),
    meanwhile('alter type lair.mood rename to mood_;; create type lair.mood as (a lair.word)'),
    mask(`${client} hr.client.mood`),
    mallory('drop type lair.mood;; alter type lair.mood_ rename to mood'),
    mask(`${client} hr.client.mood`),
    mallory.seesMasks('select mood::text from masked_hr.client'),
    operator('alter table hr.client drop mood cascade'),
    mask(client),
  ],
  'a check that is added to a domain': [
    mallory(
      `create domain lair.calm as text check (value <> 'never');; create table lair.own (id int, code lair.calm)`,
    ),
    meanwhile('alter domain lair.calm add check (pub.spy(value))'),
    mask(`${client} lair.own.code`),
    bait(`select 'x'::lair.calm`),
    mask(`${client} lair.own.code`),
  ],
  'a view in the place of a table': [
    mallory('create table lair.own (id int, mail text)'),
    meanwhile('drop table lair.own;; create view lair.own as select id, mail, pub.spy(mail) from hr.client'),
    mask(`${client} lair.own.mail`),
    mask(client),
    mallory.isDenied('select * from lair.own'),
  ],
})
