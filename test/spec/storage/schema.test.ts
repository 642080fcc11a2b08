import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { dumpSchema } from '../../../scripts/dump-schema.ts'
import { listLocks } from '../../../scripts/list-locks.ts'
import { migrationDirectory } from '../../../src/db/migrate.ts'
import { createEmptyDatabase, createTestDatabase, forEachCluster } from '../../support/postgres.ts'

forEachCluster((cluster) => {
  it('sql/schema.sql is what the migrations add up to (npm run schema writes it)', async () => {
    await using test = await createTestDatabase(cluster)
    const committed = readFileSync(path.join(migrationDirectory, 'schema.sql'), 'utf8')
    assert.equal(await dumpSchema(test.database.sql), committed)
  })

  it('sql/locks.json has the tables that migrations lock or write (npm run schema writes it)', async () => {
    await using test = await createEmptyDatabase(cluster)
    const committed = readFileSync(path.join(migrationDirectory, 'locks.json'), 'utf8')
    assert.equal(await listLocks(test.database), committed)
  })

  it('a change of any kind shows in the dump', async () => {
    await using test = await createTestDatabase(cluster)
    const { sql } = test.database
    const statements = [
      'alter table instance alter created_at drop not null',
      "alter table instance alter id set default '00000000-0000-0000-0000-000000000000'",
      'alter table audit_event add column extra varchar(7)',
      'alter table change_log add constraint change_log_kind check (kind <> $$x$$)',
      'create index change_log_kind_index on change_log (kind) where kind is not null',
      'create sequence loose',
      'create view seen as select id from instance',
      'create function twice(x int) returns int language sql as $$ select 2 * x $$',
      'create trigger watch after update on instance for each row execute function suppress_redundant_updates_trigger()',
      "create type mood as enum ('good', 'bad')",
      'alter table instance enable row level security',
      "comment on table instance is 'said'",
      'grant select on instance to public',
    ]
    let before = await dumpSchema(sql)
    for (const statement of statements) {
      await sql.unsafe(statement)
      const after = await dumpSchema(sql)
      assert.notEqual(after, before, statement)
      before = after
    }
  })
})
