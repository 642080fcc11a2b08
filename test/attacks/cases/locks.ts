import {
  auditor,
  holds,
  mallory,
  mask,
  maskAll,
  note,
  owner,
  type Step,
  turnCases,
  victim,
} from '../turn-case.ts'

const both = 'hr.client.mail hr.pay.salary'
const grant = owner('grant update, select (id) on hr.client to {mallory} with grant option')
/** On PostgreSQL 15 a lock on a table keeps no grant from being changed; another grant does, on every version. */
const block = mallory(
  'begin;; lock table hr.client in access exclusive mode;; grant select (id) on hr.client to public',
)
const blocked: readonly Step[] = [grant, mask(both), block]

export const locks = turnCases('contained', ['ENF-69'], {
  'a lock while an exemption ends': [
    ...blocked,
    maskAll(both),
    note('Unfinished "hr"."client"'),
    auditor.isDenied('select salary from hr.pay'),
    auditor.seesMasks('select salary from masked_hr.pay'),
    mallory('rollback'),
    maskAll(both),
    auditor.isDenied('select mail from hr.client'),
  ],
})

export const lastRules = turnCases('contained', ['ENF-69', 'ENF-142'], {
  'a lock while the last rule goes': [
    ...blocked,
    mask(''),
    note('Unfinished "hr"."client"'),
    victim.seesRawValues('select salary from hr.pay'),
    mallory('rollback'),
    mask(''),
    victim.seesRawValues('select mail from hr.client'),
    mallory.seesRawValues('select mail from hr.client'),
    holds(`select has_column_privilege({mallory_text}, 'hr.client', 'id', 'select with grant option')`),
  ],
})

export const newRules = turnCases('contained', ['ENF-70'], {
  'a lock while a rule comes': [
    ...blocked,
    mask(`${both} hr.client.region hr.pay.id`),
    victim.isDenied('select id from hr.pay'),
    victim.seesMasks('select id from masked_hr.pay'),
    holds(`select not has_table_privilege({mallory_text}, 'masked_hr.client', 'select')`),
    mallory('rollback'),
    mask(`${both} hr.client.region hr.pay.id`),
    victim.seesMasks('select region from masked_hr.client'),
  ],
})

export const twinReaders = turnCases('contained', ['ENF-64'], {
  'a session that reads a twin when the masks end': [
    mask(both),
    mallory('create view lair.on_twin as select * from masked_hr.client'),
    mallory('begin;; select mail from masked_hr.client'),
    mask('hr.pay.salary'),
    victim.isDenied('select mail from hr.client'),
    mallory('commit'),
    mask('hr.pay.salary'),
    victim.seesRawValues('select mail from hr.client'),
    victim.isDenied('select mail from masked_hr.client;; select mail from lair.on_twin'),
  ],
  'a session that reads a twin when a rule comes': [
    mask('hr.client.mail'),
    mallory('begin;; select mail from masked_hr.client'),
    mask(`${both} hr.client.region`),
    victim.isDenied(
      'select region from hr.client;; select region from masked_hr.client;; select salary from hr.pay',
    ),
    mallory('commit'),
    mask(`${both} hr.client.region`),
    victim.seesMasks('select region from masked_hr.client'),
  ],
})
