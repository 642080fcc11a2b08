import { auditor, mallory, mask, operator, owner, turnCases, victim } from '../turn-case.ts'

const both = 'hr.client.mail hr.pay.salary'
/** Nothing that masking makes gives a role more than it had. */
export const schemas = turnCases('any role, harm', ['ENF-530'], {
  'a schema that is closed': [
    operator('revoke usage on schema hr from public;; grant usage on schema hr to {victim}'),
    mask(both),
    mallory.isDenied('select * from masked_hr.client;; select * from masked_hr.pay'),
    victim.seesMasks('select * from masked_hr.client'),
  ],
  'a schema that is closed later': [
    mask(both),
    operator('revoke usage on schema hr from public;; grant usage on schema hr to {victim}'),
    mask(both),
    mallory.isDenied('select * from masked_hr.client'),
  ],
  'a table that is not granted': [
    operator('revoke select on hr.pay from {mallory};; grant select (id) on hr.pay to {mallory}'),
    mask(both),
    mallory.isDenied(
      'select salary from masked_hr.pay;; select salary from hr.pay;; select * from masked_hr.pay',
    ),
  ],
  'columns that are not granted': [
    operator('revoke select on hr.client from {mallory};; grant select (mail) on hr.client to {mallory}'),
    mask(both),
    mallory.isDenied('select region from masked_hr.client;; select id from hr.client'),
    mallory.seesMasks('select mail from masked_hr.client'),
  ],
  'default privileges of the binding': [
    operator(
      'alter default privileges grant select on tables to public;; revoke select on hr.pay from {mallory}',
    ),
    operator('alter default privileges for role {binder} grant select on tables to public'),
    mask(both),
    mallory.isDenied('select * from masked_hr.pay'),
    operator('alter default privileges revoke select on tables from public'),
    operator('alter default privileges for role {binder} revoke select on tables from public'),
  ],
  'a view of another owner over the table': [
    operator('revoke select on hr.pay from {mallory}'),
    auditor('select 1'),
    owner('create view app.sums as select id, salary from hr.pay;; grant select on app.sums to {victim}'),
    mask(both),
    mallory.isDenied('select * from masked_app.sums;; select * from app.sums'),
    victim.seesMasks('select * from masked_app.sums'),
  ],
  'the record of the controller, through a view of one’s own': [
    mask(both),
    mallory(
      `create view lair.plain as select id from hr.client;;
      create materialized view lair.kept as select id from hr.client`,
    ),
    mask(both),
    mallory.isDenied('select exempt from masquerade_guard.policy;; select * from masquerade_guard.relation'),
  ],
})

export const names = turnCases('any role, harm', ['ENF-47'], {
  'a schema of the name of the twins': [
    mallory('create schema masked_hr;; grant all on schema masked_hr to public'),
    mask(both),
    mallory.isDenied('select * from masked_hr.client;; select mail from hr.client'),
    mallory('create view masked_hr.client as select mail from hr.client'),
    victim.isDenied('select * from masked_hr.client'),
    mallory('drop schema masked_hr cascade'),
  ],
  'a schema of the name of the records': [
    mallory(`create schema masquerade_guard;; create table masquerade_guard.relation (oid oid, grants jsonb);;
      create table masquerade_guard.policy (exempt text[]);;
      insert into masquerade_guard.policy values (array[{mallory_text}]);;
      grant all on schema masquerade_guard to public;; grant all on all tables in schema masquerade_guard to public`),
    mask(both),
    mallory.isDenied('select mail from hr.client'),
    victim.seesMasks('select mail from masked_hr.client'),
    mallory('drop schema masquerade_guard cascade'),
  ],
  'default privileges in the schema of the twins': [
    mask(both),
    mallory('alter default privileges grant all on tables to public'),
    mask(`${both} hr.secret.word`),
    mallory.isDenied('select * from masked_hr.secret;; select word from hr.secret'),
  ],
  'the role of the owner of twins': [
    operator(`do $$ begin execute format('create role "masquerade_twins_%s_%s" login', (select oid from pg_database
      where datname = current_database()), (select relowner from pg_class where oid = 'hr.client'::regclass));
      execute format('grant "masquerade_twins_%s_%s" to {mallory} with admin option', (select oid from pg_database
      where datname = current_database()), (select relowner from pg_class where oid = 'hr.client'::regclass)); end $$`),
    mask(both),
    mallory.isDenied('select mail from hr.client;; select mail from masked_hr.client'),
    operator(`do $$ begin execute format('drop role "masquerade_twins_%s_%s"', (select oid from pg_database
      where datname = current_database()), (select relowner from pg_class where oid = 'hr.client'::regclass)); end $$`),
    mask(both),
    victim.seesMasks('select mail from masked_hr.client'),
  ],
})
