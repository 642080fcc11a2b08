import {
  auditor,
  holds,
  mallory,
  mask,
  meanwhile,
  operator,
  owner,
  type Step,
  turnCases,
  victim,
} from '../turn-case.ts'

const both = 'hr.client.mail hr.pay.salary'
/** Tells all that its reader may see of the table. */
const spyOn = (table: string) => `((select string_agg(s::text, ',') from ${table} s) || 'x')::int is not null`
const own = `create table lair.own (id int, mail text);; insert into lair.own values (1, 'x@lair.example');;
  grant select on lair.own to {victim};; alter table lair.own enable row level security`
export const grants = turnCases('contained', ['ENF-220'], {
  'a grant option of the binding': [
    owner('grant select on hr.client to {binder} with grant option'),
    mask(both),
    mallory.isDenied('select mail from hr.client'),
    victim.isDenied('select mail from hr.client'),
  ],
  'a grant option of a role that passed it on': [
    owner('grant select on hr.client to {auditor} with grant option'),
    auditor('grant select on hr.client to {binder} with grant option'),
    mask(both),
    mallory.isDenied('select mail from hr.client'),
  ],
})

export const passedOn = turnCases('contained', ['ENF-295'], {
  'a grant of a column that was passed on': [
    owner(
      'grant select on hr.client to {auditor} with grant option;; revoke select on hr.client from {victim}',
    ),
    auditor('grant select (mail) on hr.client to {victim}'),
    mask(both),
    victim.isDenied('select mail from hr.client'),
  ],
  'a grant that is passed on again and again': [
    owner('grant select on hr.client to {mallory} with grant option'),
    meanwhile('grant select (mail) on hr.client to {victim}'),
    mask(both),
    mask(both),
    victim.isDenied('select mail from hr.client'),
  ],
})

const takeOver: readonly Step[] = [
  mallory('create view lair.keep as select * from masked_hr.client'),
  operator('revoke {mallory} from {binder};; alter table hr.client owner to {mallory}'),
]
const spyOnOwn: Step = mallory(
  `alter table hr.client enable row level security;; create policy spy on hr.client using (${spyOn('hr.pay')})`,
)

export const newOwners = turnCases('any role, harm', ['ENF-51'], {
  'an owner that the binding cannot act for': [
    mask(both),
    ...takeOver,
    mask(both),
    spyOnOwn,
    mallory.isDenied('select * from lair.keep;; select * from masked_hr.client'),
    operator('grant {mallory} to {binder}'),
    mallory('drop policy spy on hr.client;; create policy every on hr.client using (true)'),
    mask(both),
    victim.seesMasks('select mail from masked_hr.client'),
  ],
  'such an owner, and its rule is deleted': [
    mask(both),
    ...takeOver,
    mask('hr.pay.salary'),
    spyOnOwn,
    mallory.isDenied('select * from lair.keep;; select * from masked_hr.client'),
    operator('grant {mallory} to {binder}'),
  ],
})

const twinOwner = (table: string) => `(select relowner from pg_class where oid = '${table}'::regclass)`

export const otherOwners = turnCases('any role, harm', ['ENF-51'], {
  'a table that gets another owner': [
    mallory(`${own};; create policy p on lair.own using (true)`),
    mask(`${both} lair.own.mail`),
    operator(`select ${twinOwner('masked_hr.client')} as keep`),
    operator('alter table hr.client owner to {mallory}'),
    mask(`${both} lair.own.mail`),
    holds(`select ${twinOwner('masked_hr.client')} = ${twinOwner('masked_lair.own')}`),
    holds(`select not has_table_privilege({keep}::oid, 'hr.client', 'select')`),
    victim.seesMasks('select mail from masked_hr.client'),
    auditor.seesRawValues('select mail from hr.client'),
    operator('alter table hr.client owner to {owner};; grant select on hr.client to {mallory}'),
    mask(`${both} lair.own.mail`),
    holds(`select ${twinOwner('masked_hr.client')} = {keep}`),
  ],
})
