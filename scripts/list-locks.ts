// sql/locks.json: the tables that each migration locks or writes, as PostgreSQL tells when it is applied.
import { type Database, schemaName, type Tx } from '../src/db/database.ts'
import type { TableLocks } from '../src/db/lock-tables.ts'
import { migrateWithin, readMigrations } from '../src/db/migrate.ts'

type TableLock = { name: string; mode: TableLocks[string] }

/** Applies the migrations to an empty database, each in a transaction of its own. */
export async function listLocks(database: Database): Promise<string> {
  const migrations = readMigrations()
  const all: Record<string, TableLocks> = {}
  for (const { number, name } of migrations) {
    const locks = await database.transaction(async (tx) => {
      const before = await listTables(tx)
      await migrateWithin(tx, migrations.slice(0, number))
      return await readLocks(tx, before)
    })
    if (locks.length > 0)
      all[`${String(number).padStart(4, '0')}-${name}`] = Object.fromEntries(
        locks.map(({ name, mode }) => [name, mode]),
      )
  }
  return `${JSON.stringify(all, null, 2)}\n`
}

/** Partitions are locked with their table. */
async function listTables(tx: Tx): Promise<{ oid: number; name: string }[]> {
  return await tx<{ oid: number; name: string }[]>`
    select c.oid::int, relname as name from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname = ${schemaName} and relkind in ('r', 'p') and not relispartition and relname <> 'masquerade_migration'`
}

/** The strongest for each table. Rows that a migration writes are kept from other writers, and from those that lock them. */
async function readLocks(tx: Tx, before: { oid: number; name: string }[]): Promise<TableLock[]> {
  return await tx<TableLock[]>`
    select known.name, (array_agg(strength.name order by strength.at desc))[1] as mode
    from pg_locks l
    join jsonb_to_recordset(${tx.json(before)}) as known (oid oid, name text) on known.oid = l.relation
    join (values
      ('ShareLock', 'share', 1), ('ShareRowExclusiveLock', 'share row exclusive', 2),
      ('RowExclusiveLock', 'exclusive', 3), ('ExclusiveLock', 'exclusive', 3),
      ('AccessExclusiveLock', 'access exclusive', 4)) as strength (lock, name, at) on strength.lock = l.mode
    where l.pid = pg_backend_pid()
    group by known.name order by known.name collate "C"`
}
