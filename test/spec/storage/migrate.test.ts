import assert from 'node:assert/strict'
import { it } from 'node:test'
import { connectDatabase } from '../../../src/db/connect.ts'
import { type Migration, migrate, readMigrations } from '../../../src/db/migrate.ts'
import { OperatorError } from '../../../src/kernel/operator-error.ts'
import { createEmptyDatabase, createTestDatabase, forEachCluster } from '../../support/postgres.ts'

const next = (text: string, after = readMigrations().length): Migration => ({
  number: after + 1,
  name: 'added',
  checksum: `checksum of ${text}`,
  text,
})

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
