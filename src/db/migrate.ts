import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { OperatorError } from '../kernel/operator-error.ts'
import { codeOf, sqlstate } from '../kernel/sqlstate.ts'
import { limitWaits, lockUntilCommit } from './advisory-locks.ts'
import { type Database, schemaName, type Tx } from './database.ts'
import { lockTables, type TableLocks } from './lock-tables.ts'
import { addPartitions } from './partitions.ts'
import type { Query } from './query.ts'
import { isRetryable, sqlstateOf } from './sqlstate.ts'

export type Migration = {
  number: number
  name: string
  checksum: string
  text: string
  /** Tables from before that it locks or writes, by `sql/locks.json`. */
  locks?: TableLocks | undefined
}
export type AppliedMigration = { number: number; name: string; checksum: string }

export const migrationDirectory = fileURLToPath(new URL('../../sql', import.meta.url))

/**
 * Checksums of migrations whose text was corrected after a release, by number. Where the former text was applied, the
 * corrected one would have changed nothing more.
 */
const formerChecksums: Readonly<Record<number, string>> = {
  // It failed where two names of people are one by the new folding.
  21: '1dce8463320aae0fe64e2c235b37b6c2dcf9ec8b124f8d680a36372af754ea75',
}

/** Files `NNNN-name.sql`, numbered from 1 without a gap, and the list of the tables that they lock. */
export function readMigrations(directory = migrationDirectory): Migration[] {
  const files = readdirSync(directory)
    .filter((file) => /^\d/.test(file) && file.endsWith('.sql'))
    .sort()
  const locks: Record<string, TableLocks> = JSON.parse(readFileSync(`${directory}/locks.json`, 'utf8'))
  return files.map((file, at) => {
    const [, number, name] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? []
    if (number === undefined || name === undefined || Number(number) !== at + 1) {
      const expected = String(at + 1).padStart(4, '0')
      throw new OperatorError(`migration file '${file}' is out of order: the next number is ${expected}`)
    }
    const text = readFileSync(`${directory}/${file}`, 'utf8').replaceAll('\r\n', '\n')
    const checksum = createHash('sha256').update(text).digest('hex')
    return { number: at + 1, name, checksum, text, locks: locks[`${number}-${name}`] }
  })
}

/**
 * SVC-124: a migration that waits for a table makes every later statement on it wait. One of these may be a question of a node
 * on another connection, for which the transaction waits that has the table: PostgreSQL cannot see that circle. PostgreSQL ends an
 * autovacuum that is in the way after a second.
 */
const longestWaitMs = 1_500
const pauseMs = 1_000
const triedForMs = 180_000
// A deadlock remains possible where a lock depends on rows: `sql/locks.json` is made on an empty store.
const busyStates: readonly string[] = [sqlstate.lockNotAvailable, sqlstate.deadlockDetected]

/**
 * Brings the database to the newest migration in one transaction: all of it, or nothing. Nodes that start together
 * queue on the advisory lock and find the work done. Returns the numbers that were applied.
 */
export async function migrate(
  database: Database,
  migrations = readMigrations(),
  triedFor = triedForMs,
): Promise<number[]> {
  // From the first table that was not free: the migrations of another node, waited for before, may take long.
  let end: number | undefined
  const missed: string[] = []
  for (;;) {
    try {
      return await database.transaction((tx) => migrateWithin(tx, migrations, missed))
    } catch (error) {
      if (!busyStates.includes(sqlstateOf(error))) throw error
      end ??= performance.now() + triedFor
      if (performance.now() >= end)
        throw new OperatorError(
          `the migration was not made: other transactions used its tables for ${triedFor / 1000} seconds; start again when imports, backups and vacuums against wraparound have ended, or without writes to other nodes`,
          { cause: error },
        )
      await setTimeout(pauseMs)
    }
  }
}

/**
 * The same as a part of a transaction. With `missed`, the tables that earlier attempts did not get, it runs beside requests: it limits
 * its waits, and locks all tables first.
 */
export async function migrateWithin(
  tx: Tx,
  migrations: readonly Migration[],
  missed?: string[],
): Promise<number[]> {
  await tx`set local statement_timeout = 0`
  await lockUntilCommit(tx, 'migrations')
  // Behind the lock of other nodes: their migrations may take long.
  if (missed) await tx`select ${limitWaits(tx, longestWaitMs)}`
  await prepareSchema(tx)
  const pending = choosePending(await readApplied(tx), migrations)
  const needed = pending.map(({ locks = {} }) => locks)
  if (missed && pending.length > 0) await lockTables(tx, needed, missed, longestWaitMs)
  const [before] = await tx`select pg_current_xact_id()::text as id`
  for (const migration of pending) await apply(tx, migration, before?.id)
  if (pending.length > 0) await addPartitions(tx)
  return pending.map(({ number }) => number)
}

/** The migrations that the database lacks. Changes nothing. */
export async function listPending(sql: Query): Promise<Migration[]> {
  return choosePending(await readApplied(sql), readMigrations())
}

/** The migrations that the database has. */
export async function readApplied(sql: Query): Promise<AppliedMigration[]> {
  return await sql<AppliedMigration[]>`
    select number, name, checksum from masquerade.masquerade_migration order by number`
}

/** Pure: what is left to do, or why the database cannot be used by this version of the service. */
export function choosePending(
  applied: readonly AppliedMigration[],
  migrations: readonly Migration[],
): Migration[] {
  for (const [at, row] of applied.entries()) {
    const migration = migrations[at]
    const label = `${String(row.number).padStart(4, '0')}-${row.name}`
    if (row.number !== at + 1) {
      throw new OperatorError(`the database is damaged: migration ${at + 1} is missing before ${label}`)
    }
    if (migration === undefined) {
      throw new OperatorError(
        `the database is newer than this version: it has migration ${label}; start a version that knows it`,
      )
    }
    if (row.checksum !== migration.checksum && row.checksum !== formerChecksums[row.number]) {
      throw new OperatorError(
        `migration ${label} was changed after it was applied: restore the file and add a new migration instead`,
      )
    }
  }
  return migrations.slice(applied.length)
}

async function prepareSchema(tx: Tx): Promise<void> {
  // IF NOT EXISTS asks for the privilege to create even when there is nothing to create.
  const [schema] = await tx`select 1 from pg_namespace where nspname = ${schemaName}`
  if (!schema) await tx`create schema ${tx(schemaName)}`
  await tx`set local search_path = ${tx(schemaName)}`
  const [table] =
    await tx`select 1 from pg_tables where schemaname = ${schemaName} and tablename = 'masquerade_migration'`
  if (!table) {
    await tx`
      create table masquerade_migration (
        number integer primary key,
        name text not null,
        checksum text not null,
        applied_at timestamptz not null default now()
      )`
  }
}

async function apply(
  tx: Tx,
  { number, name, checksum, text }: Migration,
  transactionId: string,
): Promise<void> {
  const label = `${String(number).padStart(4, '0')}-${name}`
  try {
    await tx.unsafe(text)
  } catch (error) {
    // A deadlock with a node that serves, or a table that it uses: the whole transaction is tried again.
    const isBusy = isRetryable(error) || codeOf(error) === sqlstate.lockNotAvailable
    if (!(error instanceof pg.DatabaseError) || isBusy) throw error
    throw new OperatorError(`migration ${label} failed and nothing was changed: ${error.message}`, {
      cause: error,
    })
  }
  const [after] = await tx`select pg_current_xact_id()::text as id`
  if (after?.id !== transactionId)
    throw new OperatorError(`migration ${label} ends the transaction it is part of`)
  await tx`insert into masquerade_migration (number, name, checksum) values (${number}, ${name}, ${checksum})`
}
