import { OperatorError } from '../../kernel/operator-error.ts'
import { schemaName, type Tx } from '../database.ts'
import { choosePending, migrateWithin, readMigrations } from '../migrate.ts'
import type { Query } from '../query.ts'
import { quoteIdentifier } from '../quote.ts'
import { notABackup } from './frames.ts'
import { type BackedUpTable, listTables } from './list-tables.ts'
import type { Manifest } from './manifest.ts'
import { takeIndexes } from './rebuild-indexes.ts'
import type { BackupVisitor } from './walk-backup.ts'

/** Refuses a database that holds anything of a service: a restore adds to nothing and replaces nothing. */
export async function requireEmptyStore(sql: Query): Promise<void> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace where n.nspname = ${schemaName}`
  if (row && row.count > 0)
    throw new OperatorError(
      `The database has a store already: restore into an empty one, or drop the schema ${schemaName} first.`,
    )
}

/** Refuses a backup of a newer version, or one whose migrations are not ours. */
export function requireKnownSchema({ migrations, version }: Manifest): void {
  try {
    choosePending(migrations, readMigrations())
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    throw new OperatorError(
      `The backup was made by version ${version} and cannot be restored by this one: ${error.message}`,
      { cause: error },
    )
  }
}

/**
 * Loads a backup in the transaction: tables as they were in the version that made it, its rows, then the migrations since.
 * Triggers of ours are silent meanwhile: what they would note is in the rows already. Indexes and keys are made behind the rows.
 */
export function createLoader(tx: Tx, onTable: (table: string) => void): BackupVisitor {
  let known: readonly BackedUpTable[] = []
  let makeIndexes = async () => {}
  return {
    async manifest(manifest) {
      requireKnownSchema(manifest)
      await tx`set local statement_timeout = 0`
      await tx`set local idle_in_transaction_session_timeout = 0`
      await requireEmptyStore(tx)
      await migrateWithin(tx, readMigrations().slice(0, manifest.migrations.length))
      known = await listTables(tx)
      await tx.unsafe(`truncate ${known.map(({ name }) => nameTable(name)).join(', ')}`)
      await switchTriggers(tx, 'disable')
      makeIndexes = await takeIndexes(tx)
    },
    async table(table, chunks) {
      onTable(table.name)
      await tx.copy(`copy ${nameTable(table.name)} (${listColumns(known, table)}) from stdin`, chunks)
    },
    async end({ sequences }) {
      for (const [name, value] of Object.entries(sequences))
        await tx`select setval(format('%I.%I', ${schemaName}::text, ${name}::text)::regclass, ${value}::bigint)`
      onTable('indexes')
      await makeIndexes()
      await switchTriggers(tx, 'enable')
      onTable('migrations')
      await migrateWithin(tx, readMigrations())
    },
  }
}

const nameTable = (name: string) => `${schemaName}.${quoteIdentifier(name)}`

/** Refuses names that the tables of that version do not have. */
function listColumns(known: readonly BackedUpTable[], { name, columns }: BackedUpTable): string {
  const own = known.find((table) => table.name === name)
  if (!own) throw notABackup(`there is no table ${name} in its version`)
  if (!columns.every((column) => own.columns.includes(column)))
    throw notABackup(`${name} has columns that its version does not know`)
  return columns.map(quoteIdentifier).join(', ')
}

async function switchTriggers(tx: Tx, change: 'enable' | 'disable'): Promise<void> {
  const rows = await tx<{ name: string }[]>`
    select distinct c.relname::text as name from pg_catalog.pg_trigger t
    join pg_catalog.pg_class c on c.oid = t.tgrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName} and not t.tgisinternal order by 1`
  for (const { name } of rows) await tx.unsafe(`alter table ${nameTable(name)} ${change} trigger user`)
}
