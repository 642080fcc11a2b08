import { auditor, holds, mallory, mask, maskAll, operator, owner, turnCases, victim } from '../turn-case.ts'

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
    holds(`select not rolcanlogin from pg_roles r join pg_class c on c.relowner = r.oid
      where c.oid = 'masked_hr.client'::regclass`),
  ],
})

export const records = turnCases('contained', ['ENF-140'], {
  'schemas of the names of the records': [
    mallory(`create schema masquerade_guard;; create schema masquerade_guard_1;;
      create table masquerade_guard.policy (owner uuid);; grant all on schema masquerade_guard to public`),
    mask(both),
    victim.isDenied('select mail from hr.client'),
    victim.seesMasks('select mail from masked_hr.client'),
    mask(''),
    victim.seesRawValues('select mail from hr.client'),
    mallory('drop schema masquerade_guard, masquerade_guard_1 cascade'),
    mask(both),
  ],
})

const steal = (schema: string) => `create function ${schema}.steal() returns trigger language plpgsql as
  $$ begin raise exception '%', old.mail; end $$`
const trap = (schema: string) =>
  `create trigger steal before update on hr.client for each row execute function ${schema}.steal()`

export const rights = turnCases('contained', ['ENF-50'], {
  'a trigger and a foreign key': [
    operator('grant update, trigger, references on hr.client to {mallory}, {auditor}'),
    operator(`do $$ begin if current_setting('server_version_num')::int >= 170000 then
      execute 'grant maintain on hr.client to {mallory}'; end if; end $$`),
    mask(both),
    mallory(steal('lair')),
    mallory.isDenied(
      `${trap('lair')};; create table lair.keys (id int references hr.client);; reindex table hr.client`,
    ),
    operator('grant trigger on hr.client to {mallory}'),
    mask(both),
    mallory.isDenied(trap('lair')),
    auditor(`${steal('pg_temp')};; ${trap('pg_temp')}`),
    auditor.seesRawValues('update hr.client set id = 1'),
    owner('drop trigger steal on hr.client'),
    maskAll(both),
    auditor.isDenied(trap('pg_temp')),
    mask(''),
    holds(`select count(*) = case when current_setting('server_version_num')::int >= 170000 then 3 else 2 end
      from pg_class c, aclexplode(c.relacl) a where c.oid = 'hr.client'::regclass
      and a.grantee = {mallory_text}::regrole and a.privilege_type in ('TRIGGER', 'REFERENCES', 'MAINTAIN')`),
  ],
})

/** Fails unless this holds between the rows that the planner expects for a raw value and for another one. */
const expects = (compare: '=' | '<>', from: string, ask: (value: string) => string) => {
  const plan = (value: string) => `execute $q$ explain (format json) select 1 from ${from} ${ask(value)} $q$`
  return `do $$ declare one json; other json; begin ${plan('zqcanary')} into one; ${plan('nothing')} into other;
    assert (one #>> '{0,Plan,Plan Rows}') ${compare} (other #>> '{0,Plan,Plan Rows}'); end $$`
}
const questions: readonly ((value: string) => string)[] = [
  (value) => `where mail = '${value}'`,
  (value) => `where mail > '${value}'`,
  (value) => `where mail like '${value}%'`,
  (value) => `where mail in ('${value}', 'x')`,
  (value) => `where lower(mail) = '${value}'`,
  (value) => `join (values ('${value}')) v(mail) using (mail)`,
]
const askAll = (compare: '=' | '<>', from: string, asked: typeof questions) =>
  asked.map((question) => expects(compare, from, question)).join(';; ')

export const estimates = turnCases('contained', ['ENF-197'], {
  'rows that EXPLAIN expects, by statistics': [
    owner(`create table hr.many (id int, mail text);; grant select on hr.many to {mallory}, {auditor};;
      insert into hr.many select i, case when i % 10 = 0 then 'm' || i else 'zqcanary' end
      from generate_series(1, 5000) i;; analyze hr.many`),
    mask('hr.many.mail'),
    mallory(askAll('=', 'masked_hr.many', questions)),
    auditor(askAll('<>', 'hr.many', questions.slice(0, 1))),
    mask('hr.many.mail:Email'),
    mallory(askAll('=', 'masked_hr.many', questions)),
  ],
})
