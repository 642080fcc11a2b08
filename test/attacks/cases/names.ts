import { shadowName } from '../../../src/masks/names.ts'
import { holds, mallory, mask, operator, owner, turnCases, victim } from '../turn-case.ts'

const client = 'hr.client.mail'
/** Where the twins of hr are while mallory has masked_hr, and the schema whose twins would be there, too. */
const shadow = shadowName('hr', (name) => name === 'masked_hr')
const home = shadow.replace(/^masked_/, '')
const spoof = (from: string) =>
  mallory(`create schema "${home}";; grant usage on schema "${home}" to public;;
    create view "${home}".client with (security_invoker) as select id, mail, pub.spy('x') as region from ${from};;
    grant select on "${home}".client to public`)
const noneIsShared = holds(
  'select count(*) = count(distinct twin) from masquerade_guard.relation where twin is not null',
)
const twin = (of: string) =>
  operator(`select format('%I.%I', twin ->> 'schema', twin ->> 'name') as keep from masquerade_guard.relation
    where oid = '${of}'::regclass`)
const isOurs = holds(`select relowner::regrole::text ~ '^"?masquerade_twins_' and pg_get_viewdef(oid) !~ 'spy'
  from pg_class where oid = '{keep}'::regclass`)
const long = 'customer_relationship_management_of_the_northern_region_eu'
const names = ['a', 'b'].map((last) => 'n'.repeat(62) + last)

export const sharedNames = turnCases('any role, harm', ['ENF-310'], {
  'a schema whose twins have the name of others': {
    since: 15,
    steps: [
      mallory('create schema masked_hr'),
      mask(client),
      spoof('hr.client'),
      mask(client),
      twin('hr.client'),
      ...[holds(`select '{keep}' = '${shadow}.client'`), noneIsShared, isOurs],
      victim.seesMasks('select mail from {keep}'),
      mallory(`drop schema "${home}", masked_hr cascade`),
      mask(client),
    ],
  },
  'a schema whose twins had the name first': {
    since: 15,
    steps: [
      mallory('create schema masked_hr'),
      owner(`create table app.fact (id int, mail text);; grant select on app.fact to {mallory};;
        insert into app.fact values (1, 'zqcanary')`),
      spoof('app.fact'),
      mask('app.fact.mail'),
      twin(`"${home}".client`),
      holds(`select '{keep}' = '${shadow}.client'`),
      mask(`app.fact.mail ${client}`),
      twin('hr.client'),
      ...[holds(`select '{keep}' <> '${shadow}.client'`), noneIsShared, isOurs],
      victim.seesMasks('select mail from {keep}'),
      mallory(`drop schema "${home}", masked_hr cascade`),
      mask(client),
    ],
  },
  'names of 63 bytes': [
    operator(`create schema ${long} authorization {owner};; grant usage on schema ${long} to public`),
    ...names.map((name) =>
      owner(`create table ${long}.${name} (word text);; insert into ${long}.${name} values ('zqcanary');;
        grant select on ${long}.${name} to {victim}`),
    ),
    mask(names.map((name) => `${long}.${name}.word`).join(' ')),
    noneIsShared,
    ...names.map((name) => victim.seesMasks(`select word from ${shadowName(long, () => false)}.${name}`)),
    mask(''),
    operator(`drop schema ${long} cascade`),
  ],
})

export const renamedSchemas = turnCases('any role, harm', ['ENF-311'], {
  'a schema that is renamed, and another that gets its name': [
    mask(client),
    operator('alter schema hr rename to aside;; create schema hr authorization {owner}'),
    owner(`grant usage on schema hr to public;; create table hr.client (id int, mail text);;
      insert into hr.client values (1, 'zqcanary');; grant select on hr.client to {victim}`),
    operator('revoke select on aside.client from {victim}'),
    mask(`${client} aside.client.mail`),
    noneIsShared,
    mallory.seesMasks('select mail from masked_hr.client'),
    victim.isDenied('select mail from masked_hr.client'),
    twin('hr.client'),
    victim.seesMasks('select mail from {keep}'),
    mallory.isDenied('select mail from {keep}'),
    operator('drop schema hr cascade;; alter schema aside rename to hr'),
    mask(client),
  ],
})

export const changedTwins = turnCases('any role, harm', ['ENF-312'], {
  'a twin that is changed, renamed, dropped and given away by hand': [
    mask(client),
    operator(`create or replace view masked_hr.client as select id, region, mail from hr.client;;
      alter view masked_hr.client owner to {mallory}`),
    mask(client),
    mallory.isDenied('create or replace view masked_hr.client as select 1 as id'),
    victim.seesMasks('select mail from masked_hr.client'),
    ...[twin('hr.client'), isOurs],
    operator('alter view masked_hr.client rename column mail to post'),
    mask(client),
    victim.seesMasks('select mail from masked_hr.client'),
    operator('drop view masked_hr.client'),
    mask(client),
    victim.seesMasks('select mail from masked_hr.client'),
  ],
})
