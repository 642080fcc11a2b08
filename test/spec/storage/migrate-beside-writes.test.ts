import assert from 'node:assert/strict'
import { advisoryLocks } from '../../../src/db/advisory-locks.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { migrate, readMigrations } from '../../../src/db/migrate.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { useMasking } from '../../support/masking.ts'
import { createEmptyDatabase, forEachCluster } from '../../support/postgres.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send, reachedDatabase } = useMasking()

clause(
  'SVC-124',
  'A migration that needs a table which requests use waits for it for one and a half seconds, undoes what it did, lets…',
  async () => {
    const { database } = service()
    const { sql } = database
    const text = 'alter table masquerade.masked_database add column added text'
    const number = readMigrations().length + 1
    const migrations = [...readMigrations(), { number, name: 'added', checksum: 'x', text }]
    const url = `${await reachedDatabase()}/roleMappings/x`
    const principalId = await fillDirectory(service()).user()
    const isWaiting = async (pattern: string) => {
      const rows = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like ${pattern}`
      return rows.length > 0
    }

    const { writing, migrating } = await database.transaction(async (tx) => {
      await tx`select pg_advisory_xact_lock(${advisoryLocks.rights})`
      const writing = send('PUT', url, { properties: { principalId, databaseRole: 'payroll' } })
      await waitUntil('the write waits', () => isWaiting('%pg_advisory_xact_lock%'))
      await assert.rejects(migrate(database, migrations, 2_000), {
        name: 'OperatorError',
        message: /^the migration was not made: other transactions used its tables for 2 seconds/,
      })
      const [column] =
        await sql`select from pg_attribute where attrelid = 'masked_database'::regclass and attname = 'added'`
      assert.equal(column, undefined, 'nothing was changed')
      const migrating = migrate(database, migrations)
      await waitUntil('the migration waits for the write', () => isWaiting('alter table%'))
      return { writing, migrating }
    })
    const { status, text: answer } = await writing
    assert.equal(status, 201, answer)
    assert.deepEqual(await migrating, [number])
  },
)

clause(
  'SVC-132',
  'A read of one statement that PostgreSQL ends for a circle of locks, as beside a migration, is sent again: the caller…',
  async () => {
    const { database } = service()
    const { sql } = database
    await sql.unsafe('create table one (n int); create table two (n int); insert into two values (7)')
    const text = `
      set local deadlock_timeout = '1h'; lock table one; select pg_sleep(0.3); lock table two`
    // The read has the second table and waits for the first, which the transaction has.
    const read = sql<{ n: number }[]>`
      select two.n from two, lateral (select pg_sleep(0.2)) as waited,
        lateral (select query_to_xml('select * from one', true, true, '') where waited is not null) as later`
    const [rows] = await Promise.all([read, database.transaction((tx) => tx.unsafe(text))])
    assert.deepEqual(
      rows.map(({ n }) => n),
      [7],
    )
  },
)

forEachCluster((cluster) => {
  clause(
    'SVC-126',
    'Before its first change a node locks all tables that the pending migrations lock or write, the audit and the change…',
    async () => {
      await using test = await createEmptyDatabase(cluster)
      const { sql } = test.database
      const released = 35
      await migrate(test.database, readMigrations().slice(0, released))
      // The audit takes as long as one of 200,000 entries: longer than PostgreSQL waits before it looks for a circle of locks.
      const migrations = readMigrations().map((one) =>
        one.name === 'partitioned-logs' ? { ...one, text: `${one.text}; select pg_sleep(2)` } : one,
      )
      const tenantId = (await sql`select tenant_id as id from instance`)[0]?.id
      const addAudit = (tx: typeof sql, count: number) => tx`
        insert into audit_event (tenant_id, actor, action, target)
        select ${tenantId}, '{}', 'written', '' from generate_series(1, ${count}::int)`
      await addAudit(sql, 1000)

      // Nodes of the last release: a write looks up what the caller may do, writes its object, then its audit entry.
      const old = openDatabase({ url: test.url, poolSize: 6 })
      let isDone = false
      let written = 0
      const write = async () => {
        while (!isDone) {
          await old.transaction(async (tx) => {
            await tx`select from role_assignment`
            await tx`
              insert into directory_object (tenant_id, id, kind, properties)
              values (${tenantId}, gen_random_uuid(), 'user', jsonb_build_object('userPrincipalName', gen_random_uuid()))`
            await addAudit(tx, 1)
          })
          written++
        }
      }
      const writers = Promise.all([1, 2, 3, 4].map(write))
      try {
        await waitUntil('the nodes write', () => written > 20)
        const migrated = await Promise.race([migrate(test.database, migrations), writers])
        assert.deepEqual(
          migrated,
          readMigrations()
            .map(({ number }) => number)
            .slice(released),
        )
        const before = written
        await waitUntil('the nodes go on', () => written > before + 20)
      } finally {
        isDone = true
        await writers.finally(() => old.close())
      }
      const [audit] = await sql`select count(*) from audit_event where action = 'written'`
      assert.equal(audit?.count, 1000 + written)
    },
  )
})
