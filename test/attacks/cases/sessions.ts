import {
  auditor,
  mallory,
  mask,
  maskAll,
  note,
  operator,
  owner,
  type Step,
  turnCases,
  victim,
} from '../turn-case.ts'

const client = 'hr.client.mail'
const exported = 'begin isolation level repeatable read;; select pg_export_snapshot() as keep'
const imported = `begin isolation level repeatable read;; set transaction snapshot '{keep}'`
const statements = [
  'select mail from hr.client',
  'select p::text from hr.client p',
  'copy hr.client (mail) to stdout',
  'declare c cursor for select mail from hr.client',
]

/** What was prepared before the first rule, or before a change of it. */
export const snapshots = turnCases('contained', ['ENF-146'], {
  'a transaction that began before the rule': statements.flatMap((text): readonly Step[] => [
    mallory('begin isolation level repeatable read;; select 1'),
    mask(client),
    mallory.isDenied(text),
    mallory('rollback;; begin isolation level repeatable read'),
    mallory.seesMasks('select mail from masked_hr.client'),
    mallory('rollback'),
  ]),
  'a snapshot from before the rule': [
    mallory(exported),
    mask(client),
    victim(imported),
    victim.isDenied('select mail from hr.client'),
    victim(`rollback;; ${imported}`),
    victim.seesMasks('select mail from masked_hr.client'),
    victim('rollback'),
  ],
  'a snapshot from under an exemption': [
    mask(client),
    auditor(exported),
    maskAll(client),
    mallory(imported),
    mallory.isDenied('select mail from hr.client'),
    mallory(`rollback;; ${imported}`),
    mallory.seesMasks('select mail from masked_hr.client'),
    auditor.isDenied('copy hr.client to stdout'),
  ],
  'a prepared statement from before the rule': [
    mallory('prepare p as select mail from hr.client;; execute p'),
    mask(client),
    mallory.isDenied('execute p'),
  ],
  'a generic plan from before the rule': [
    mallory(
      `set plan_cache_mode = force_generic_plan;; prepare p (int) as select mail from hr.client where id = $1;;
      execute p (1)`,
    ),
    mask(client),
    mallory.isDenied('execute p (1)'),
  ],
  'a prepared statement over a twin whose mask ends': [
    mask('hr.client.mail hr.pay.salary'),
    mallory('prepare p as select salary from masked_hr.pay;; execute p'),
    mask('hr.client.mail hr.pay.salary hr.pay.id'),
    mallory.seesMasks('execute p'),
  ],
  'a function with a plan from before the rule': [
    mallory(`create function lair.f() returns setof text language plpgsql as
    'begin return query select mail from hr.client; end';;
      select lair.f()`),
    mask(client),
    mallory.isDenied('select lair.f()'),
  ],
  'a security definer function from before the rule': [
    mallory(`create function lair.f() returns setof text language sql security definer as 'select mail from hr.client';;
      grant execute on function lair.f() to public`),
    mask(client),
    victim.isDenied('select lair.f()'),
  ],
  'a view from before the rule': [
    mallory('create view lair.v as select mail from hr.client;; grant select on lair.v to public'),
    mask(client),
    victim.isDenied('select * from lair.v;; select * from masked_lair.v'),
    mallory.isDenied('select * from lair.v'),
  ],
  'a temporary view from before the rule': [
    mallory('create temp view v as select mail from hr.client'),
    mask(client),
    mallory.isDenied('select * from v'),
  ],
  'a materialized view that is empty': [
    mallory('create materialized view lair.m as select mail from hr.client with no data'),
    mask(client),
    mallory.isDenied('refresh materialized view lair.m'),
  ],
  'a role that was set before the rule': [
    operator('grant {victim} to {mallory}'),
    mallory('set role {victim}'),
    mask(client),
    mallory.isDenied('select mail from hr.client'),
    mallory('reset role'),
    operator('revoke {victim} from {mallory}'),
  ],
  'a column that is renamed, and another that gets its name': [
    mask(client),
    owner('alter table hr.client rename mail to post'),
    mallory.isDenied('select post from hr.client'),
    mallory.seesMasks('select * from masked_hr.client'),
    owner(`alter table hr.client add mail text default 'zqcanary'`),
    mask(client),
    note('ColumnRenamed hr.client.mail'),
    mallory.isDenied('select post from hr.client;; select mail from hr.client'),
    mallory.seesMasks('select post, mail from masked_hr.client'),
  ],
  'a column that is added': [
    mask(client),
    owner(`alter table hr.client add copy text;; update hr.client set copy = mail`),
    mallory.isDenied('select copy from hr.client;; select copy from masked_hr.client'),
    owner(`update hr.client set copy = 'plain'`),
    mask(client),
    mallory.seesMasks('select copy from hr.client;; select copy, mail from masked_hr.client'),
  ],
  'a table that is renamed': [
    mask(client),
    owner('alter table hr.client rename to human'),
    mask(client),
    mallory.isDenied('select mail from hr.human'),
    mallory.seesMasks('select mail from masked_hr.human'),
    owner('alter table hr.human rename to client'),
  ],
  'a table that is made again': [
    mask(`${client} hr.pay.salary`),
    owner(`drop table hr.pay cascade;; create table hr.pay (salary text, id int);;
      insert into hr.pay values ('zqcanary', 1);; grant select on hr.pay to {mallory}`),
    mask(`${client} hr.pay.salary`),
    mallory.isDenied('select salary from hr.pay'),
    mallory.seesMasks('select salary from masked_hr.pay'),
  ],
  'a view and a child that come later': [
    mask(client),
    owner(`create view hr.later as select mail from hr.client;; create table hr.child () inherits (hr.client);;
      insert into hr.child values (2, 1, 'zqcanary');; grant select on hr.later, hr.child to {mallory}`),
    mask(client),
    mallory.isDenied('select * from hr.later;; select mail from hr.child'),
    mallory.seesMasks('select mail from masked_hr.later;; select mail from masked_hr.child'),
  ],
  'a partition that is added': [
    operator(
      'create table hr.parts (id int, mail text) partition by list (id);; alter table hr.parts owner to {owner}',
    ),
    operator('grant select on hr.parts to {mallory}'),
    mask(`${client} hr.parts.mail`),
    owner(
      `create table hr.part partition of hr.parts for values in (1);; insert into hr.parts values (1, 'zqcanary')`,
    ),
    mallory.isDenied('select * from hr.part;; select mail from hr.parts'),
    mallory.seesMasks('select * from masked_hr.parts'),
  ],
})

export const shadows = turnCases('any role, harm', ['ENF-147'], {
  'temporary objects that shadow': [
    ...['lair', 'pg_temp'].map(
      (schema): Step =>
        mallory(`create function ${schema}.left(v text, n int)
        returns text language sql as 'select pub.spy(v); select $1';;
        create function ${schema}.to_regclass(v text) returns regclass language sql as
        'select pub.spy(v); select null::regclass';;
        create function ${schema}.pg_has_role(a name, b oid, c text)
        returns boolean language sql as 'select pub.spy(c)';;
        create table ${schema}.relation (oid oid);; create table ${schema}.policy (oid oid);;
        create table ${schema}.pg_class (oid oid);; create table ${schema}.pg_roles (oid oid);;
        create table ${schema}.client (id int, mail text);; create domain ${schema}.text as varchar`),
    ),
    mallory('set search_path = pg_temp, lair, masked_hr, hr, pg_catalog'),
    mask(client),
    mallory.seesMasks('select mail from masked_hr.client'),
    mallory.isDenied('select mail from hr.client'),
    mallory('create view lair.steal as select mail from hr.client'),
    mask(client),
    mallory.isDenied('select * from lair.steal'),
  ],
})

export const twoPhases = turnCases('contained', ['ENF-149'], {
  'views and functions in a prepared transaction': [
    mallory(`begin;; create view lair.v as select mail from hr.client;;
      create function lair.f() returns setof text language sql security definer as 'select mail from hr.client';;
      grant select on lair.v to public;; prepare transaction '{database}'`),
    mask(client),
    mallory(`commit prepared '{database}'`),
    mallory.isDenied('select mail from lair.v;; select lair.f()'),
    victim.isDenied('select mail from lair.v;; select lair.f()'),
    mask(client),
    victim.isDenied('select mail from lair.v'),
  ],
})
