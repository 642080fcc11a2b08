import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { findDumpPrograms } from '../../support/dump-programs.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { freshDatabase, policyUrl, useMasking } from '../../support/masking.ts'
import { listClusters } from '../../support/postgres.ts'
import { dumpSchema, listPrivileges } from '../../support/privileges.ts'
import { rules as rentalRules } from '../../support/rental/rules.ts'
import { schema as rental } from '../../support/rental/schema.ts'
import { runHere } from '../../support/run-here.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { send, service } = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })
const [usual = 'embedded-18'] = listClusters()
const dumped = listClusters().findLast(findDumpPrograms) ?? usual

/** Everything that masks deal with, and grants of every kind. */
const everything = `
  create schema closed; create schema "Odd ""Name"""; revoke all on schema closed from public;
  create type closed.mood as enum ('good', 'bad'); revoke usage on type closed.mood from public;
  create domain public.mail as text check (value like '%@%');
  create table public.base (id int primary key, email public.mail, name text, mood closed.mood,
    shout text generated always as (upper(name)) stored);
  create table public.child (extra text) inherits (public.base);
  create table public.part (id int, email text) partition by list (id);
  create table public.part_1 partition of public.part for values in (1);
  create table "Odd ""Name"""."Table" (id int, "E Mail" text);
  create table closed.inside (id int, email text, mood closed.mood);
  create table public.ruled (id int, email text, owner_name text default current_user);
  alter table public.ruled enable row level security;
  create policy own on public.ruled using (owner_name = current_user);
  create view public.seen as select id, email from public.base;
  create view public.deep with (security_barrier) as select email from public.seen;
  create materialized view public.kept as select email from public.part;
  create function public.count_mails() returns bigint language sql as 'select count(email) from public.base';
  create function public.stamp() returns trigger language plpgsql as 'begin new.name := lower(new.name); return new; end';
  create trigger stamped before insert on public.base for each row execute function public.stamp();
  comment on column public.base.email is 'where to write to';
  grant usage on schema public, "Odd ""Name""" to public;
  grant select on public.base, "Odd ""Name"""."Table" to public;
  grant select, insert, trigger, references on public.base to :ann with grant option;
  grant select on closed.inside, "Odd ""Name"""."Table" to :bea; grant select, insert (email), update on closed.inside to public;
  grant select (email) on closed.inside to :ann; grant update (email), select (email) on closed.inside to :bea with grant option;
  grant select (id, email), update (email) on public.base to :bea;
  grant all on public.part, public.seen, public.deep, public.kept, public.ruled to :ann;
  grant usage on schema closed to :ann; grant usage on type closed.mood to :ann; grant select on closed.inside to :ann;
  alter default privileges in schema public grant select on tables to :bea;`

const columns = [
  'public.base.email',
  'public.base.name',
  'public.part.email',
  'Odd "Name".Table.E Mail',
  'closed.inside.email',
  'closed.inside.mood',
  'public.ruled.email',
]

interface Case {
  readonly schema: string
  readonly rules: readonly { schema: string; table: string; column: string; maskingFunction: string }[]
}
const cases: Readonly<Record<string, Case>> = {
  rental: {
    schema: `${rental}; grant usage on schema public to :ann; grant select on all tables in schema public to :ann`,
    rules: rentalRules,
  },
  everything: {
    schema: everything,
    rules: columns.map((name) => {
      const [schema = '', table = '', column = ''] = name.split('.')
      return { schema, table, column, maskingFunction: 'Default' }
    }),
  },
}

async function openCase({ schema }: Case, isSuperuser: boolean, cluster = dumped) {
  const target = await createMaskedDatabase(cluster)
  const roles = Object.fromEntries(
    await Promise.all(
      ['ann', 'bea', 'owner', 'binder', 'mapped'].map(
        async (name) =>
          [name, await target.createRole(name, name === 'mapped' ? 'NOLOGIN' : 'LOGIN')] as const,
      ),
    ),
  )
  const database = target.url.replace(/^.*\//, '')
  const text = schema.replaceAll(/:(ann|bea)\b/g, (_all, name: string) => `"${roles[name]}"`)
  await target.database.sql.unsafe(`
    alter role "${roles.binder}" createrole; grant "${roles.owner}" to "${roles.binder}";
    grant "${roles.mapped}" to "${roles.binder}" with admin option;
    grant create on database "${database}" to "${roles.owner}", "${roles.binder}"; alter schema public owner to "${roles.owner}";
    set role "${roles.owner}"; ${text}; reset role`)
  const credentials = isSuperuser ? {} : { user: roles.binder ?? '', password: 'secret' }
  return {
    target,
    roles: Object.values(roles),
    ann: roles.ann ?? '',
    binding: bindingOf(target.url, credentials),
  }
}

const run = async (...args: string[]) => {
  const token = service().tokenFor({ role: 'Owner' })
  await service().tokens.settled()
  return runHere([...args, '--url', service().origin, '--token', token], {
    environment: { XDG_CONFIG_HOME: '/nonexistent' },
  })
}

/** Since PostgreSQL 16 a role does not inherit from those that it creates: without superuser the undo differs. */
const clustersOf = (name: string, isSuperuser: boolean) =>
  process.env.MASQUERADE_TEST_ALL
    ? listClusters()
    : [...new Set(name === 'everything' && !isSuperuser ? [usual, dumped] : [dumped])]

for (const [name, one] of Object.entries(cases))
  for (const isSuperuser of [true, false])
    for (const cluster of clustersOf(name, isSuperuser))
      clause(
        'ENF-127',
        'After `masquerade database unbind --restore` every privilege is what it was before the…',
        async () => {
          const { target, roles, ann, binding } = await openCase(one, isSuperuser, cluster)
          await using _ = target
          const db = freshDatabase()
          const place = db
            .split('/')
            .filter((_part, at) => [2, 4, 8, 10].includes(at))
            .join('/')
          const privileges = () => listPrivileges(target.database, roles)
          const [before, dumped] = [await privileges(), dumpSchema(cluster, target.url)]
          const bound = await send('PUT', db, { properties: { binding } })
          assert.ok(bound.status < 300, bound.text)
          const rules = one.rules.map(({ schema, table, column, ...mask }) => ({
            ...Object.fromEntries(Object.entries(mask).filter(([key]) => key !== 'name')),
            name: `${schema}.${table}.${column}`,
            schemaName: schema,
            tableName: table,
            columnName: column,
          }))
          const applied = await send('PUT', `${policyUrl(db)}/document?api-version=2026-11-01`, {
            properties: { policy: { dataMaskingState: 'Enabled', exemptPrincipals: [ann] }, rules },
          })
          assert.equal(applied.status, 200, applied.text)
          assert.notDeepEqual(await privileges(), before, name)
          const principalId = await fillDirectory(service()).user()
          const mapped = await send('PUT', `${db}/roleMappings/people`, {
            properties: { databaseRole: target.role('mapped'), principalId },
          })
          assert.equal(mapped.status, 201, mapped.text)
          const [row] = await service().database.sql<{ id: string }[]>`
        select id from masked_database where key = ${db.toLowerCase()}`
          const login = await service().enforcement.prepareLogin(row?.id ?? randomUUID(), principalId)
          assert.equal(login.kind, 'ready')
          const undone = await run('database', 'unbind', place, '--restore', '--yes')
          assert.equal(undone.code, 0, undone.stdout + undone.stderr)
          assert.match(
            undone.stdout,
            /schema masquerade_guard\n[\s\S]*REVOKE [\s\S]*The binding has ended.*the policy is off: /,
          )
          assert.deepEqual(await privileges(), before, name)
          // Lists of privileges have another order.
          const sort = (text: string | undefined) => text?.split('\n').sort()
          assert.deepEqual(sort(dumpSchema(cluster, target.url)), sort(dumped))
          const left = await target.database.sql`
        select rolname from pg_roles where starts_with(rolname, 'masquerade_twins_' ||
          (select oid from pg_database where datname = current_database()) || '_')
          or shobj_description(oid, 'pg_authid') like '%' || ${principalId} || '%'`
          assert.deepEqual([...left], [])
          assert.equal((await send('GET', db)).body.properties.binding, null)
          const hasNoSession = async () => {
            const sessions = await target.database.sql`
              select pid from pg_stat_activity where datname = current_database() and application_name = 'masquerade enforcement'`
            return sessions.length === 0
          }
          // A session that was closed is listed until its process has ended. An idle one of the pool would stay for a minute.
          await waitUntil('no session of the service is left', hasNoSession)
        },
      )

clause(
  'MASK-142',
  '`POST {db}/restore` turns the policy off, deletes the role mappings, removes everything of this service from the bound database and its server, and answers with what is left and the statement that removes it. It can be repeated; with `dryRun=true` it says what would be done and does nothing. Rules and the exempt list are kept. Views over twins go along; a table in a schema of twins keeps the schema.',
  async () => {
    const { target, binding } = await openCase(cases.everything as Case, true)
    await using _ = target
    const db = freshDatabase()
    await send('PUT', db, { properties: { binding } })
    await send('PUT', `${policyUrl(db)}/rules/mail`, {
      properties: { schemaName: 'public', tableName: 'base', columnName: 'email', maskingFunction: 'Email' },
    })
    const url = `${db}/restore?api-version=2026-11-01`
    const planned = (await send('POST', `${url}&dryRun=true`)).body
    assert.ok(planned.left.some(({ name }: { name: string }) => name === 'masquerade_guard'))
    assert.match(JSON.stringify(planned.statements), /masking ends/)
    assert.equal((await send('GET', policyUrl(db))).body.properties.dataMaskingState, 'Enabled')
    // A table among the twins is in the way, and goes before the second attempt.
    await target.database.sql.unsafe(`create table masked_public.notes (note text)`)
    const first = (await send('POST', url)).body
    assert.ok(
      first.left.some(({ isHarmless }: { isHarmless: boolean }) => !isHarmless),
      JSON.stringify(first),
    )
    await target.database.sql.unsafe('drop table masked_public.notes')
    const second = await send('POST', url)
    assert.deepEqual(second.body.left, [])
    assert.equal(second.body.state, 'Off')
    assert.deepEqual((await send('POST', url)).body.left, [])
    // A restored copy on the same server uses the role of the twins: it is not in the way here.
    await using copy = await createMaskedDatabase(dumped)
    const [row] = await target.database.sql<{ twins: string }[]>`
      select 'masquerade_twins_' || oid || '_10' as twins from pg_database where datname = current_database()`
    const twins = row?.twins ?? ''
    await target.database.sql.unsafe(`create role ${twins}; grant ${twins} to current_user`)
    await copy.database.sql.unsafe(`create schema masked authorization ${twins}`)
    const [left, ...others] = (await send('POST', url)).body.left
    assert.deepEqual([left.name, left.isHarmless, others], [twins, true, []])
    await copy.database.sql.unsafe(`drop owned by ${twins}; drop role ${twins}`)
    assert.equal((await send('GET', `${policyUrl(db)}/rules`)).body.value.length, 1)
    assert.equal((await send('POST', `${freshDatabase()}/restore?api-version=2026-11-01`)).status, 404)
  },
)
