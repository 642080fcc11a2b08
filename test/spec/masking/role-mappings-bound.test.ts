import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { clause } from '../../support/clause.ts'
import { bindingOf, createMaskedDatabase } from '../../support/masked-database.ts'
import { emailRule, freshDatabase, useMasking } from '../../support/masking.ts'
import { forEachCluster } from '../../support/postgres.ts'

const { service, send, putRule } = useMasking({ MASQUERADE_AUDIT_SECONDS: '3600' })

type Target = Awaited<ReturnType<typeof createMaskedDatabase>>

const put = (db: string, databaseRole: string) =>
  send('PUT', `${db}/roleMappings/m`, {
    properties: { databaseRole, principalId: service().tokens.shared.user },
  })

async function refusalOf(db: string, role: string): Promise<string> {
  const { status, body, text } = await put(db, role)
  assert.equal(status, 400, `${role}: ${text}`)
  assert.equal(body.error.code, 'InvalidRoleMapping')
  assert.equal(body.error.target, 'properties.databaseRole')
  assert.equal((await send('GET', `${db}/roleMappings/m`)).status, 404)
  return body.error.message
}

async function takes(db: string, role: string): Promise<void> {
  const { status, text, headers } = await put(db, role)
  assert.equal(status, 201, `${role}: ${text}`)
  // Some of the databases have a rule.
  assert.match(headers.get('x-masquerade-enforcement') ?? '', /^(Enforced|NoRules)$/)
  assert.equal((await send('DELETE', `${db}/roleMappings/m`)).status, 200)
}

async function bind(target: Target, credentials: { user?: string; password?: string } = {}): Promise<string> {
  const db = freshDatabase()
  const answer = await send('PUT', db, { properties: { binding: bindingOf(target.url, credentials) } })
  assert.equal(answer.status, 201, answer.text)
  return db
}

/** Roles that must not be handed out, by how they are made, and what is said of each. */
const harmful: readonly [name: string, options: string, reason: RegExp][] = [
  ['boss', 'SUPERUSER', /is a superuser/],
  ['walsender', 'REPLICATION', /has REPLICATION/],
  ['blind', 'BYPASSRLS', /has BYPASSRLS/],
  ['maker', 'CREATEROLE CREATEDB', /has CREATEROLE, CREATEDB/],
  ['reader', 'IN ROLE pg_read_all_data', /a member of "pg_read_all_data", which is a predefined role/],
]

forEachCluster((cluster) => {
  describe('a binding with a superuser', () => {
    let target: Target
    let db = ''
    const run = (text: string) => target.database.sql.unsafe(text)
    before(async () => {
      target = await createMaskedDatabase(cluster)
      for (const name of ['analyst', 'owner', 'middle', 'top', 'Anna Lyst'])
        await target.createRole(name, 'NOLOGIN')
      await run(`create table public.person (id int, email text);
        alter table public.person owner to "${target.role('owner')}"`)
      db = await bind(target)
      assert.equal((await putRule(db, 'mail', emailRule)).status, 201)
    })
    after(() => target?.[Symbol.asyncDispose]())

    clause(
      'GATE-24',
      'On a bound database, a role that does not exist is 400, with the names that may have been meant.',
      async () => {
        const misspelt = target.role('analyst').replace('analyst', 'anaylst')
        assert.match(
          await refusalOf(db, misspelt),
          new RegExp(
            `no role of the bound database: '${misspelt}'; did you mean '${target.role('analyst')}'`,
          ),
        )
        for (const role of ['public', 'PUBLIC', `${target.role('analyst')}"; drop table person; --`, '%'])
          assert.match(await refusalOf(db, role), /names no role of the bound database/)
        await takes(db, target.role('analyst'))
        await takes(db, target.role('Anna Lyst'))
      },
    )

    clause(
      'GATE-25',
      'A role that opens a way around the masks or to more rights is 400, with the reason: a…',
      async () => {
        for (const [name, options, reason] of harmful) {
          const role = await target.createRole(name, options)
          assert.match(await refusalOf(db, role), reason)
        }
        const login = await target.createRole('login')
        await run(`comment on role "${login}" is 'masquerade login 1 2'`)
        const application = await target.createRole('application', 'LOGIN')
        const person = await target.createRole('ana@contoso.com')
        const [twins] = await run(`select 'masquerade_twins_' || d.oid || '_' || c.relowner as name
          from pg_database d, pg_class c where d.datname = current_database() and c.oid = 'public.person'::regclass`)
        const others: [role: string, reason: RegExp][] = [
          ['pg_monitor', /is a predefined role/],
          [new URL(target.url).username, /is a superuser/],
          [twins?.name, /owns masked twins/],
          [target.role('owner'), /owns masked tables: public\.person/],
          [login, /is the login role of a person or an application/],
          [application, /has LOGIN, and a person who gets it could set its password/],
          [person, /is the login role of a person or an application/],
        ]
        const [middle, top] = [target.role('middle'), target.role('top')]
        await run(`grant "${middle}" to "${top}"`)
        await takes(db, top)
        for (const [role, reason] of others) {
          assert.match(await refusalOf(db, role), reason)
          await run(`grant "${role}" to "${middle}"`)
          const said = await refusalOf(db, top)
          assert.match(said, reason)
          assert.ok(said.includes(`"${top}" is a member of "${role}", which `), said)
          await run(`revoke "${role}" from "${middle}"`)
        }
        await takes(db, top)
      },
    )

    test('whoever owns a part of a masked table, or a copy of it, is not handed out', async () => {
      const [reader, parent, part, child, copy, view] = await Promise.all(
        ['reader of all', 'parent', 'part', 'child', 'copy', 'view'].map((name) =>
          target.createRole(name, 'NOLOGIN'),
        ),
      )
      await run(`create schema parts; grant create, usage on schema parts to public;
        create table parts.root (id int, email text);
        create table parts.person (id int, email text) partition by list (id);
        create table parts.person_1 partition of parts.person for values in (1);
        create table parts.customer () inherits (parts.root); create table parts.vip () inherits (parts.customer);
        create materialized view parts."Old mails" as select email from parts.customer;
        create view parts.mails as select email from parts.customer;
        create materialized view parts.twice as select * from parts.mails;
        insert into parts.person values (1, 'raw');
        grant select on all tables in schema parts to "${reader}"`)
      const owners: [relation: string, owner: string | undefined][] = [
        ['root', parent],
        ['person_1', part],
        ['vip', child],
        ['"Old mails"', copy],
        ['twice', copy],
      ]
      for (const tableName of ['person', 'customer']) {
        const put = await putRule(db, tableName, { ...emailRule, schemaName: 'parts', tableName })
        assert.equal(put.status, 201, put.text)
      }
      for (const [relation, owner = ''] of owners) {
        await run(`alter table parts.${relation} owner to "${owner}"`)
        assert.ok((await refusalOf(db, owner)).includes(`owns masked tables: parts.${relation}: it cannot`))
        await run(`alter table parts.${relation} owner to current_user`)
      }
      // None of these shows what its owner may not see. A copy that a superuser fills from the view would run its code.
      await run(`drop materialized view parts.twice; alter view parts.mails owner to "${view}"; set role "${reader}";
        create table parts.own (id int); create view parts.named as select email from parts.person;
        create materialized view parts.shown as select email from masked_parts.person;
        create materialized view parts.empty as select email from parts.person with no data; reset role`)
      await takes(db, view ?? '')
      await takes(db, reader ?? '')
    })

    test('whoever owns something in another database of the server is not handed out', async () => {
      await using other = await createMaskedDatabase(cluster)
      const stranger = await target.createRole('stranger', 'NOLOGIN')
      const member = await target.createRole('member', 'NOLOGIN')
      await run(`grant "${stranger}" to "${member}"; create table public.own (id int);
        alter table public.own owner to "${stranger}"`)
      await takes(db, member)
      const name = other.url.replace(/^.*\//, '')
      for (const [given, undo] of [
        [
          'create function f() returns int language sql return 1; alter function f() owner to',
          'drop function f',
        ],
        [`alter database "${name}" owner to`, `alter database "${name}" owner to current_user`],
      ]) {
        await other.database.sql.unsafe(`${given} "${stranger}"`)
        for (const role of [stranger, member])
          assert.ok((await refusalOf(db, role)).includes(`in other databases of the server, where`))
        await other.database.sql.unsafe(String(undo))
      }
      await takes(db, member)
    })

    clause(
      'GATE-30',
      'A bound database that has mappings cannot be deleted, nor its binding ended: 409 `Conflict`.',
      async () => {
        await using other = await createMaskedDatabase(cluster)
        await other.database.sql.unsafe(`create table public.person (id int, email text)`)
        const bound = await bind(other)
        assert.equal((await put(bound, target.role('analyst'))).status, 201)
        for (const answer of [
          await send('DELETE', bound),
          await send('PUT', bound, { properties: { binding: null } }),
        ]) {
          assert.equal(answer.status, 409)
          assert.match(answer.body.error.message, /has role mappings \('m'\)/)
        }
        await send('DELETE', `${bound}/roleMappings/m`)
        assert.equal((await send('DELETE', bound)).status, 200)
      },
    )
  })

  describe('a binding without superuser', () => {
    let target: Target
    let version = 0
    const run = (text: string) => target.database.sql.unsafe(text)
    before(async () => {
      target = await createMaskedDatabase(cluster)
      const [row] = await run(`select current_setting('server_version_num')::int as version`)
      version = row?.version
      const database = target.url.replace(/^.*\//, '')
      for (const [name, options] of [
        ['binder', 'LOGIN CREATEROLE'],
        ['creator', 'LOGIN CREATEROLE'],
        ['owner', ''],
        ['analyst', ''],
        ['team', ''],
      ] as const)
        await target.createRole(name, options)
      await run(`create table public.person (id int, email text);
        alter table public.person owner to "${target.role('owner')}";
        grant "${target.role('owner')}" to "${target.role('binder')}", "${target.role('creator')}";
        grant create on database "${database}" to "${target.role('binder')}", "${target.role('creator')}"`)
    })
    after(() => target?.[Symbol.asyncDispose]())
    /** A database is bound once at a time. */
    let last = ''
    const bindAs = async (name: string) => {
      if (last) assert.equal((await send('DELETE', last)).status, 200)
      last = await bind(target, { user: target.role(name), password: 'secret' })
      return last
    }

    clause(
      'GATE-26',
      'A role that the role of the binding may not grant is 400, with the statement that changes…',
      async () => {
        const [binder, analyst] = [target.role('binder'), target.role('analyst')]
        const db = await bindAs('binder')
        // There CREATEROLE, which every binding needs, grants any role.
        if (version < 160000) return takes(db, analyst)
        const said = await refusalOf(db, analyst)
        const [, statement = ''] = /Run: (GRANT .*);/.exec(said) ?? []
        assert.ok(statement.startsWith(`GRANT "${analyst}" TO "${binder}" WITH ADMIN`), said)
        await run(statement)
        await takes(db, analyst)
        await run(`revoke "${analyst}" from "${binder}"`)
        // A membership without ADMIN helps nothing; one of a role that inherits it does.
        await run(`grant "${analyst}" to "${target.role('team')}" with admin option`)
        await refusalOf(db, analyst)
        await run(`grant "${target.role('team')}" to "${binder}"`)
        await takes(db, analyst)
        await run(
          `revoke "${target.role('team')}" from "${binder}"; revoke "${analyst}" from "${target.role('team')}"`,
        )
      },
    )

    test('CREATEROLE is enough before PostgreSQL 16, and not from then on', async () => {
      const db = await bindAs('creator')
      const analyst = target.role('analyst')
      if (version < 160000) return takes(db, analyst)
      assert.match(await refusalOf(db, analyst), /WITH ADMIN TRUE, INHERIT FALSE, SET FALSE;/)
      // A role that creates a role there may grant it.
      const creator = target.connectAs('creator')
      const own = target.role('own')
      await creator.sql.unsafe(`create role "${own}"`)
      await takes(db, own)
      await run(`drop role "${own}"`)
    })

    test('the role of the binding is not handed out, nor what acts as it', async () => {
      const db = await bindAs('binder')
      const [binder, owner, analyst] = [target.role('binder'), target.role('owner'), target.role('analyst')]
      assert.match(await refusalOf(db, binder), /is the role of the binding/)
      await run(`grant "${binder}" to "${analyst}"`)
      assert.match(
        await refusalOf(db, analyst),
        /is a member of ".*binder.*", which is the role of the binding/,
      )
      await run(`revoke "${binder}" from "${analyst}"; grant "${owner}" to "${binder}" with admin option`)
      await putRule(db, 'mail', emailRule)
      assert.match(await refusalOf(db, owner), /owns masked tables/)
    })
  })
})

clause(
  'GATE-29',
  'On a database that is not bound or cannot be reached a mapping is stored unchecked; the answer has the header `x-masquerade-enforcement`, as that of a rule has.',
  async () => {
    const unbound = await put(freshDatabase(), 'no_such_role')
    assert.equal(unbound.status, 201)
    assert.equal(unbound.headers.get('x-masquerade-enforcement'), 'NotBound')
    const db = freshDatabase()
    const binding = { host: '127.0.0.1', port: 1, database: 'd', user: 'u', password: 'p' }
    assert.equal((await send('PUT', db, { properties: { binding } })).status, 201)
    const down = await put(db, 'no_such_role')
    assert.equal(down.status, 201)
    assert.match(down.headers.get('x-masquerade-enforcement') ?? '', /^(Pending|Failed)$/)
    assert.match(
      (await send('GET', `${db}/roleMappings`)).headers.get('x-masquerade-enforcement') ?? '',
      /^(Pending|Failed)$/,
    )
  },
)
