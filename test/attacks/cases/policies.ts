import { holds, mallory, mask, note, operator, owner, type Step, turnCases, victim } from '../turn-case.ts'

const both = 'hr.client.mail hr.pay.salary'
/** Tells all that its reader may see of the table. */
const spyOn = (table: string) => `((select string_agg(s::text, ',') from ${table} s) || 'x')::int is not null`
const own = `create table lair.own (id int, mail text);; insert into lair.own values (1, 'x@lair.example');;
  grant select on lair.own to {victim};; alter table lair.own enable row level security`
const reads = (relation: string): readonly Step[] => [
  mallory.isDenied(`select * from ${relation}`),
  victim.isDenied(`select * from ${relation}`),
]
const assignment = `create table lair.assignment (region int);; insert into lair.assignment values (1);;
  grant select on lair.assignment to public`
const limit = (from: string, more = '') =>
  `alter table hr.client enable row level security;;
  create policy p on hr.client ${more} using (region in (select region from ${from}))`
const spyThere = `alter table lair.assignment enable row level security;;
  create policy spy on lair.assignment using (${spyOn('hr.pay')})`
const noClient: readonly Step[] = [
  mask(both),
  note('NoTwin hr.client'),
  mallory(spyThere),
  mallory.isDenied('select * from masked_hr.client;; select mail from hr.client'),
  mallory.seesMasks('select salary from masked_hr.pay'),
  mallory('drop policy spy on lair.assignment;; alter table lair.assignment disable row level security'),
]

/** A role's row policies run with no right that the owner of the table lacks. */
export const policies = turnCases('any role, harm', ['ENF-230'], {
  'a policy that reads a masked table': [
    mallory(own),
    mask(`${both} lair.own.mail`),
    mallory(`create policy p on lair.own using (${spyOn('hr.pay')})`),
    ...reads('masked_lair.own'),
  ],
  'a policy that reads a table without masks': [
    mallory(own),
    mask(`${both} lair.own.mail`),
    mallory(`create policy p on lair.own using (${spyOn('hr.secret')})`),
    ...reads('masked_lair.own'),
  ],
  'a policy that reads a table of the operator': [
    mallory(own),
    operator(`create table hr.boss (id int, mail text);; insert into hr.boss values (1, 'zqcanary')`),
    mask(`${both} hr.boss.mail lair.own.mail`),
    mallory(`create policy p on lair.own using (${spyOn('hr.boss')})`),
    ...reads('masked_lair.own'),
  ],
  'a policy that reads through a view of its own': [
    mallory(
      `${own};; create view lair.eye as select salary from hr.pay;; grant select on lair.eye to public`,
    ),
    mask(`${both} lair.own.mail`),
    mallory(`create policy p on lair.own using (${spyOn('lair.eye')})`),
    ...reads('masked_lair.own'),
  ],
  'a policy that reads through a view as invoker': {
    since: 15,
    steps: [
      mallory(`${own};; create view lair.eye with (security_invoker) as select salary from hr.pay;;
        grant select on lair.eye to public`),
      mask(`${both} lair.own.mail`),
      mallory(`create policy p on lair.own using (${spyOn('lair.eye')})`),
      ...reads('masked_lair.own'),
    ],
  },
  'a policy that calls': [
    mallory(own),
    mask(`${both} lair.own.mail`),
    mallory(`create function lair.tell() returns boolean language plpgsql as $$ begin return ${spyOn('hr.pay')};
    end $$;;
      create policy p on lair.own using (lair.tell())`),
    ...reads('masked_lair.own'),
  ],
  'a restrictive policy': [
    mallory(`${own};; create policy p on lair.own using (true)`),
    mallory(`create policy q on lair.own as restrictive to {victim} using (${spyOn('hr.pay')})`),
    mask(`${both} lair.own.mail`),
    victim.isDenied('select * from masked_lair.own'),
  ],
  'a policy on a partition': [
    mallory(`create table lair.own (id int, mail text) partition by list (id);;
      create table lair.part partition of lair.own for values in (1);; insert into lair.own values (1, 'x');;
      grant select on lair.own, lair.part to {victim};; alter table lair.part enable row level security;;
      create policy p on lair.part using (${spyOn('hr.pay')});; alter table lair.own enable row level security;;
      create policy p on lair.own using (${spyOn('hr.pay')})`),
    mask(`${both} lair.own.mail`),
    ...reads('masked_lair.own'),
    ...reads('masked_lair.part'),
  ],
  'a policy on a child of a table of another owner': [
    owner(`create table app.child () inherits (hr.client);; insert into app.child values (2, 1, 'zqcanary')`),
    operator('alter table app.child owner to {mallory}'),
    mallory(
      `alter table app.child enable row level security;; create policy p on app.child using (${spyOn('hr.secret')})`,
    ),
    mask(both),
    victim.isDenied('select * from masked_app.child'),
    victim.seesMasks('select * from masked_hr.client'),
  ],
  'a policy that reads a table of the same owner': [
    mallory(`${own};; create table lair.allowed as select 1 as id, 2 as mail;;
      grant select on lair.allowed to {victim};; create policy p on lair.own using (id in (select id from lair.allowed))`),
    mask(`${both} lair.own.mail lair.allowed.mail`),
    victim.seesMasks('select mail from masked_lair.own'),
  ],
  'a user mapping of another owner': [
    operator(`create extension postgres_fdw;; create server far foreign data wrapper postgres_fdw options (port '1');;
      grant usage on foreign server far to {mallory}`),
    mask(both),
    operator(`do $$ begin execute format('create user mapping for %s server far',
    (select relowner::regrole from pg_class
      where oid = 'masked_hr.client'::regclass)); end $$`),
    mallory(
      'create foreign table lair.far (id int, mail text) server far;; grant select on lair.far to {victim}',
    ),
    mask(`${both} lair.far.mail`),
    victim.isDenied('select mail from masked_lair.far'),
    operator('drop extension postgres_fdw cascade'),
    mask(both),
  ],
  'no owner of twins reads tables of two owners': [
    mallory(`${own};; create policy p on lair.own using (true)`),
    mask(`${both} lair.own.mail`),
    holds(`select count(distinct c.relowner) < 2 from pg_roles r join pg_class c on true, aclexplode(c.relacl) a
      where a.grantee = r.oid and r.rolname like 'masquerade\\_twins\\_%' and a.privilege_type = 'SELECT'
      and c.relnamespace::regnamespace::text !~ '^masked_' group by r.oid`),
  ],
})

/** Row policies of masked tables that read what another role owns. */
export const foreignPolicies = turnCases('any role, harm', ['ENF-341'], {
  'a policy over a table of another owner': [
    mallory(assignment),
    owner(limit('lair.assignment')),
    ...noClient,
  ],
  'a policy over a table whose policy reads one': [
    mallory(assignment),
    owner(`create table hr.region (region int);; insert into hr.region values (1);; ${limit('hr.region')}`),
    owner(`alter table hr.region enable row level security;;
      create policy p on hr.region using (region in (select region from lair.assignment))`),
    ...noClient,
  ],
  'a restrictive policy over a table of another owner': [
    mallory(assignment),
    owner(
      `create policy every on hr.client using (true);; ${limit('lair.assignment', 'as restrictive to {mallory}')}`,
    ),
    ...noClient,
  ],
  'a policy over a view of another owner': [
    mallory(`${assignment};; create view lair.assigned as select region from lair.assignment;;
      grant select on lair.assigned to public`),
    owner(limit('lair.assigned')),
    mask(both),
    mallory.seesMasks('select mail from masked_hr.client'),
    mallory(`${spyThere};; alter table lair.assignment force row level security`),
    mallory.isDenied('select mail from masked_hr.client'),
  ],
  'a policy over a table that gets another owner': [
    mallory(assignment),
    owner(limit('lair.assignment')),
    mask(both),
    operator('alter table lair.assignment owner to {owner}'),
    mask(both),
    mallory.seesMasks('select mail from masked_hr.client'),
  ],
})

const regions = `create table hr.region (region int, mail text);; insert into hr.region values (1, 'x'), (2, 'x');;
  insert into hr.client values (2, 2, 'zqcanary')`
/** Nobody reads the twin; the statement lets all roles read what the policies read. */
const closedUntil = (statement: string): readonly Step[] => [
  mask(both),
  note('NoTwin hr.client'),
  mallory.isDenied('select * from masked_hr.client;; select mail from hr.client'),
  owner(statement),
  mask(both),
  mallory.seesMasks('select mail from masked_hr.client'),
]

/** What row policies read is read as the owner of the twin. */
export const policiesOfPolicies = turnCases('any role, harm', ['ENF-560'], {
  'a policy over a table that a reader may not read': [
    owner(`${regions};; ${limit('hr.region')}`),
    ...closedUntil('grant select on hr.region to {mallory}, {victim}, {auditor}'),
  ],
  'a policy over columns that a reader may not read': [
    owner(`${regions};; grant select (mail) on hr.region to public;; ${limit('hr.region')}`),
    ...closedUntil('grant select (region) on hr.region to public'),
  ],
  'a policy over a table that one reader may not read any more': [
    owner(`${regions};; ${limit('hr.region')};; grant select on hr.region to {mallory}, {victim}, {auditor}`),
    mask(both),
    victim.seesMasks('select mail from masked_hr.client'),
    owner('revoke select on hr.region from {mallory}'),
    mask(both),
    mallory.isDenied('select * from masked_hr.client'),
  ],
  'a policy over a masked table': [
    owner(`${regions};; alter table hr.client enable row level security;; create policy p on hr.client
      using (region in (select region from hr.region where mail = 'x'));; grant select on hr.region to public`),
    mask(`${both} hr.region.mail`),
    victim.seesMasks('select mail from masked_hr.client'),
    mask(`${both} hr.region.mail`),
    victim.seesMasks('select mail from masked_hr.client'),
  ],
  'a policy over a masked table that a reader may not read': [
    owner(`${regions};; ${limit('hr.region')};; grant select on hr.region to {victim}, {auditor}`),
    mask(`${both} hr.region.region`),
    note('NoTwin hr.client'),
    mask(`${both} hr.region.region`),
    mallory.isDenied('select * from masked_hr.client'),
  ],
  'a table that is hidden as a whole from a reader of no more': [
    owner(`${regions};; ${limit('hr.region')};; grant select on hr.region to {victim}, {auditor}`),
    mask('hr.client.id hr.client.region hr.client.mail hr.pay.salary'),
    mask('hr.client.id hr.client.region hr.client.mail hr.pay.salary'),
    note('NoTwin hr.client'),
    mallory.isDenied('select * from masked_hr.client'),
  ],
  'a policy over a table with policies for certain roles': [
    owner(`${regions};; grant select on hr.region to public;; alter table hr.region enable row level security;;
      create policy p on hr.region to {victim} using (region = 1);; alter table hr.client enable row level security;;
      create policy p on hr.client using (region not in (select region from hr.region))`),
    ...closedUntil('alter policy p on hr.region to public using (region = 3)'),
  ],
  'a policy over a table whose policy reads what a reader may not read': [
    owner(`${regions};; grant select on hr.region to public;; ${limit('hr.region')};;
      alter table hr.region enable row level security;; create policy p on hr.region
      using (region in (select id from hr.secret))`),
    ...closedUntil('drop policy p on hr.region;; create policy p on hr.region using (true)'),
  ],
  'a policy over a view as invoker': {
    since: 15,
    steps: [
      owner(`${regions};; create view hr.near with (security_invoker) as select region from hr.region;;
        grant select on hr.near to public;; ${limit('hr.near')}`),
      ...closedUntil('alter view hr.near set (security_invoker = false)'),
    ],
  },
  'a policy over a table that all roles may read': [
    owner(`${regions};; ${limit('hr.region')};; grant select on hr.region to public`),
    mask(both),
    mallory.seesMasks('select mail from masked_hr.client'),
    mask(`${both} hr.client.id`),
    mallory.seesMasks('select mail from masked_hr.client'),
  ],
})
