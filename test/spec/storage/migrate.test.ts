import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { connectDatabase } from '../../../src/db/connect.ts'
import { type Migration, migrate, readMigrations } from '../../../src/db/migrate.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { clause } from '../../support/clause.ts'
import { createEmptyDatabase, createTestDatabase, forEachCluster } from '../../support/postgres.ts'
import { runHere } from '../../support/run-here.ts'

const next = (text: string, after = readMigrations().length): Migration => ({
  number: after + 1,
  name: 'added',
  checksum: `checksum of ${text}`,
  text,
})

clause(
  'SVC-69',
  '`masquerade migrate --check` lists the migrations that the database lacks and changes nothing; exit code 4 says that there…',
  async () => {
    await using test = await createEmptyDatabase()
    const migrations = readMigrations()
    await migrate(test.database, migrations.slice(0, -1))
    const environment = { MASQUERADE_DATABASE_URL: test.url }
    const look = () => runHere(['migrate', '--check', '--json'], { environment })
    const last = migrations.at(-1)
    const behind = await look()
    assert.equal(behind.code, 4, behind.stderr)
    const label = `${String(last?.number).padStart(4, '0')}-${last?.name}`
    assert.deepEqual(JSON.parse(behind.stdout), { upToDate: false, pending: [label] })
    assert.equal((await look()).code, 4, 'nothing was changed')
    await migrate(test.database)
    assert.deepEqual(JSON.parse((await look()).stdout), { upToDate: true, pending: [] })
    await migrate(test.database, [...migrations, next('create table masquerade.later ()')])
    const ahead = await look()
    assert.equal(ahead.code, 1)
    assert.match(ahead.stderr, /newer than this version: it has migration \d{4}-added/)
  },
)

forEachCluster((cluster) => {
  it('lets four nodes start at once on an empty database', async () => {
    await using test = await createEmptyDatabase(cluster)
    const nodes = await Promise.all([1, 2, 3, 4].map(() => connectDatabase({ url: test.url, poolSize: 2 })))
    try {
      const rows = await test.database
        .sql`select number, name, checksum from masquerade_migration order by number`
      const files = readMigrations().map(({ number, name, checksum }) => ({ number, name, checksum }))
      assert.deepEqual([...rows], files)
      const [instances] = await test.database.sql`select count(*) from instance`
      assert.equal(instances?.count, 1)
    } finally {
      await Promise.all(nodes.map((node) => node.close()))
    }
  })

  it('applies what is new and nothing twice', async () => {
    await using test = await createTestDatabase(cluster)
    const { sql } = test.database
    const added = [...readMigrations(), next('create table added (); insert into added default values')]
    assert.deepEqual(await migrate(test.database), [])
    assert.deepEqual(await migrate(test.database, added), [added.length])
    assert.deepEqual(await migrate(test.database, added), [])
    const [rows] = await sql`select count(*) from added`
    assert.equal(rows?.count, 1)
  })

  clause(
    'DIR-294',
    'Users whose names were two by the locale of the database, as `VIP@` and `vip@` by a Turkish one, and are one by this…',
    async () => {
      await using test = await createEmptyDatabase(cluster)
      const { sql } = test.database
      await migrate(test.database, readMigrations().slice(0, 20))
      const [instance] = await sql<{ tenantId: string }[]>`select tenant_id as "tenantId" from instance`
      const tenantId = instance?.tenantId ?? ''
      // Not every server has a Turkish locale: this is what the index of one lets in.
      await sql.unsafe(`drop index masquerade.user_principal_name_is_unique;
        create unique index user_principal_name_is_unique
          on masquerade.directory_object (tenant_id, (properties ->> 'userPrincipalName'))`)
      const names = ['vip@contoso.com', 'VIP@contoso.com', 'vIP@contoso.com', 'ana@contoso.com']
      for (const [at, userPrincipalName] of names.entries())
        await sql`
          insert into directory_object (tenant_id, id, kind, properties, created_at)
          values (${tenantId}, gen_random_uuid(), 'user', ${sql.json({ userPrincipalName })},
            now() - make_interval(days => ${9 - at}::int))`
      await migrate(test.database)
      const users = await sql<{ id: string; name: string }[]>`
        select id, user_principal_name as name from directory_object where kind = 'user' order by created_at`
      const idOf = (at: number) => users[at]?.id.replaceAll('-', '')
      assert.deepEqual(
        users.map(({ name }) => name),
        [names[0], `VIP.${idOf(1)}@contoso.com`, `vIP.${idOf(2)}@contoso.com`, names[3]],
      )
      const audited = await sql<{ target: string; before: object; after: object }[]>`
        select target, before, after from audit_event where action = 'rename doubled user' order by id`
      const entries = [1, 2].map((at) => ({
        target: `/users/${users[at]?.id}`,
        before: { userPrincipalName: names[at] },
        after: { userPrincipalName: users[at]?.name },
      }))
      assert.deepEqual(
        new Set(audited.map((entry) => JSON.stringify(entry))),
        new Set(entries.map((entry) => JSON.stringify(entry))),
      )

      await sql`update masquerade_migration set checksum = ${'1dce8463320aae0fe64e2c235b37b6c2dcf9ec8b124f8d680a36372af754ea75'}
        where number = 21`
      assert.deepEqual(await migrate(test.database), [], 'where it was applied before it was corrected')
    },
  )

  it('binds consents of before to the present addresses, and ends tokens of principals that are shut out', async () => {
    await using test = await createEmptyDatabase(cluster)
    const { sql } = test.database
    await migrate(test.database, readMigrations().slice(0, 44))
    const [instance] = await sql<{ tenantId: string }[]>`select tenant_id as "tenantId" from instance`
    const tenantId = instance?.tenantId ?? ''
    const add = async (kind: string, properties: Parameters<typeof sql.json>[0]) => {
      const id = randomUUID()
      await sql`
        insert into directory_object (tenant_id, id, kind, properties)
        values (${tenantId}, ${id}, ${kind}, ${sql.json(properties)})`
      return id
    }
    const appId = randomUUID()
    const redirectUris = ['https://A.example:8443/x?y', 'http://localhost:3000/', 'app://back/', 'nowhere']
    await add('application', { appId, web: { redirectUris }, spa: null, appRoles: [], displayName: 'One' })
    const client = await add('servicePrincipal', { appId })
    const person = await add('user', { userPrincipalName: 'a@example.com', accountEnabled: false })
    const other = await add('user', { userPrincipalName: 'b@example.com', accountEnabled: true })
    for (const user of [null, person])
      await sql`
        insert into delegated_permission (tenant_id, client_id, user_id, permission)
        values (${tenantId}, ${client}, ${user}::uuid, 'Mail.Read')`
    for (const user of [person, other])
      await sql`insert into user_password (tenant_id, user_id, hash, changed_at) values (${tenantId}, ${user}, '', 'epoch')`
    await sql`delete from token_cutoff`
    await migrate(test.database)
    const consents = await sql<{ origins: string[] }[]>`
      select array(select unnest(origins) order by 1) as origins from delegated_permission order by user_id nulls first`
    assert.deepEqual(consents, [
      { origins: [] },
      { origins: ['app://back', 'http://localhost', 'https://a.example:8443'] },
    ])
    const dated = await sql`select user_id as id from user_password where changed_at > 'epoch'`
    assert.deepEqual(dated, [{ id: person }])
    const cut = await sql`select principal_id as id from token_cutoff`
    assert.deepEqual(cut, [{ id: person }])
  })

  clause(
    'DIR-422',
    'An upgrade ends assignments of app roles that earlier imports had dropped, and gives service principals the roles of…',
    async () => {
      await using test = await createEmptyDatabase(cluster)
      const { sql } = test.database
      await migrate(test.database, readMigrations().slice(0, 61))
      const [instance] = await sql<{ tenantId: string }[]>`select tenant_id as "tenantId" from instance`
      const tenantId = instance?.tenantId ?? ''
      const add = async (kind: string, properties: Parameters<typeof sql.json>[0], isDeleted = false) => {
        const id = randomUUID()
        await sql`
          insert into directory_object (tenant_id, id, kind, properties, deleted_at)
          values (${tenantId}, ${id}, ${kind}, ${sql.json(properties)}, ${isDeleted ? sql`now()` : sql`null`})`
        return id
      }
      const noRole = '00000000-0000-0000-0000-000000000000'
      const person = await add('user', { userPrincipalName: 'a@example.com' })
      const team = await add('group', { displayName: 'Team' })
      const [kept, dropped] = [randomUUID(), randomUUID()]
      const listOf = (ids: readonly string[]) => ids.map((id) => ({ id: id.toUpperCase(), value: id }))
      /** A service principal with these roles whose application has others, or that has none. */
      const addClient = async (
        roles: readonly string[],
        ofApplication?: readonly string[],
        { isDeleted = false, withApplication = false } = {},
      ) => {
        const appId = randomUUID()
        if (ofApplication)
          await add(
            'application',
            { appId, ...(ofApplication.length > 0 && { appRoles: listOf(ofApplication) }) },
            withApplication,
          )
        const appRoles = roles.length > 0 ? { appRoles: listOf(roles) } : {}
        const id = await add('servicePrincipal', { appId, displayName: 'One', ...appRoles }, isDeleted)
        for (const principal of [person, team])
          for (const role of [kept, dropped, noRole])
            await sql`
              insert into app_role_assignment (tenant_id, principal_id, resource_id, app_role_id)
              values (${tenantId}, ${principal}, ${id}, ${role})`
        return id
      }
      const cases = [
        { id: await addClient([kept, dropped], [kept]), left: [kept], roles: [kept] },
        { id: await addClient([kept, dropped], [kept], { isDeleted: true }), left: [kept], roles: [kept] },
        {
          id: await addClient([kept, dropped], [kept], { isDeleted: true, withApplication: true }),
          left: [kept],
          roles: [kept],
        },
        { id: await addClient([kept], [kept]), left: [kept], roles: [kept] },
        { id: await addClient([kept]), left: [kept], roles: [kept] },
        { id: await addClient([kept, dropped]), left: [kept, dropped], roles: [kept, dropped] },
        { id: await addClient([]), left: [], roles: [] },
        { id: await addClient([], [kept]), left: [kept], roles: [kept] },
        // The service principal alone may have been given roles.
        { id: await addClient([kept], []), left: [kept], roles: [kept] },
      ]
      await sql`delete from change_log`
      await migrate(test.database)
      for (const [at, { id, left, roles }] of cases.entries()) {
        const rows = await sql<{ role: string }[]>`
          select app_role_id as role from app_role_assignment where resource_id = ${id} order by 1`
        const expected = [noRole, ...left].flatMap((role) => [role, role]).sort()
        assert.deepEqual(rows.map(({ role }) => role).sort(), expected, `case ${at}`)
        const [principal] = await sql<{ properties: { appRoles?: { value: string }[] } }[]>`
          select properties from directory_object where id = ${id}`
        assert.deepEqual(
          (principal?.properties.appRoles ?? []).map(({ value }) => value),
          roles,
          `case ${at}`,
        )
      }
      const audited = await sql<{ target: string; before: object }[]>`
        select target, before from audit_event where action = 'revoke app role' and before ->> 'resourceId' = ${cases[0]?.id ?? ''}
        order by target`
      const before = { appRoleId: dropped, resourceId: cases[0]?.id }
      assert.deepEqual(audited, [
        { target: `/groups/${team}`, before },
        { target: `/users/${person}`, before },
      ])
      const logged = await sql<{ kind: string }[]>`select kind from change_log`
      assert.deepEqual(
        logged.map(({ kind }) => kind),
        ['rewritten'],
        'nodes load the directory anew',
      )

      await using other = await createEmptyDatabase(cluster)
      await migrate(other.database, readMigrations().slice(0, 61))
      await other.database.sql`delete from change_log`
      await migrate(other.database)
      assert.equal((await other.database.sql`select from change_log`).length, 0, 'where nothing was left')
    },
  )

  it('rolls everything back when one migration fails', async () => {
    await using test = await createTestDatabase(cluster)
    const { sql } = test.database
    const count = readMigrations().length
    const broken = [
      ...readMigrations(),
      next('create table first ()'),
      next('create table second (x nonsense)', count + 1),
    ]
    await assert.rejects(migrate(test.database, broken), {
      name: 'OperatorError',
      message: `migration ${String(count + 2).padStart(4, '0')}-added failed and nothing was changed: type "nonsense" does not exist`,
    })
    const [found] = await sql`select to_regclass('first') as first, count(*) from masquerade_migration`
    assert.deepEqual({ ...found }, { first: null, count })
  })

  it('refuses a migration that ends the transaction it is part of', async () => {
    await using test = await createTestDatabase(cluster)
    const escaping = [...readMigrations(), next('create table escaped (); commit; begin')]
    await assert.rejects(migrate(test.database, escaping), /added ends the transaction/)
  })

  it('refuses a database whose applied migration was changed in the code', async () => {
    await using test = await createTestDatabase(cluster)
    const changed = readMigrations().map((migration) => ({ ...migration, checksum: 'another' }))
    await assert.rejects(migrate(test.database, changed), /0001-foundation was changed after it was applied/)
  })

  it('refuses a database that is newer than the code', async () => {
    await using test = await createTestDatabase(cluster)
    await migrate(test.database, [...readMigrations(), next('select 1')])
    await assert.rejects(connectDatabase({ url: test.url }), (error) => {
      assert.ok(error instanceof OperatorError)
      assert.match(error.message, /^the database is newer than this version: it has migration \d{4}-added/)
      return true
    })
  })

  it('refuses a database with a hole in its migrations', async () => {
    await using test = await createTestDatabase(cluster)
    await test.database.sql`delete from masquerade_migration`
    await test.database.sql`insert into masquerade_migration values (2, 'later', 'checksum')`
    await assert.rejects(migrate(test.database), /migration 1 is missing before 0002-later/)
  })

  it('needs no privilege on the database once the schema is there', async () => {
    await using test = await createTestDatabase(cluster)
    const { sql } = test.database
    const role = `plain_${test.url.slice(-8)}`
    await sql`create role ${sql(role)} login password 'plain'`
    try {
      await sql`grant usage on schema masquerade to ${sql(role)}`
      await sql`grant select on all tables in schema masquerade to ${sql(role)}`
      const url = test.url.replace(/\/\/[^@]*@/, `//${role}:plain@`)
      const database = await connectDatabase({ url, poolSize: 1 })
      await database.close()
    } finally {
      await sql`drop owned by ${sql(role)}`
      await sql`drop role ${sql(role)}`
    }
  })
})
