import assert from 'node:assert/strict'
import { advisoryLocks } from '../../../src/db/advisory-locks.ts'
import { migrate, readMigrations } from '../../../src/db/migrate.ts'
import { clause } from '../../support/clause.ts'
import { fillDirectory } from '../../support/directory.ts'
import { useMasking } from '../../support/masking.ts'
import { waitUntil } from '../../support/wait-until.ts'

const { service, send, reachedDatabase } = useMasking()

clause(
  'SVC-124',
  'A migration that needs a table which requests use waits for it for one and a half seconds, undoes what it did, lets…',
  async () => {
    const { database } = service()
    const { sql } = database
    const text = 'alter table masquerade.role_assignment add column added text'
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
        await sql`select from pg_attribute where attrelid = 'role_assignment'::regclass and attname = 'added'`
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
