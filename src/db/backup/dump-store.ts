import { schemaName, type Tx } from '../database.ts'
import { readTenantId } from '../instance.ts'
import { readApplied } from '../migrate.ts'
import { quoteIdentifier } from '../quote.ts'
import { encodeFrame, type FrameKind } from './frames.ts'
import { type BackedUpTable, listTables } from './list-tables.ts'
import { type BackedUpFile, type BackupEnd, backupFormat, type Manifest } from './manifest.ts'

/** Takes the next piece of the backup; resolves when there is room for another. */
export type Put = (piece: Buffer) => Promise<void>

export interface DumpOptions {
  readonly version: string
  /** Read inside the transaction, after its snapshot is taken. */
  readonly readFiles: () => Promise<readonly BackedUpFile[]>
  readonly onProgress: (table: string, rows: number) => void
}

const dataFrameBytes = 256 * 1024

/** Writes the store as of one moment: everything is read in one snapshot, and writers go on beside it. */
export async function dumpStore(tx: Tx, put: Put, options: DumpOptions): Promise<BackupEnd> {
  await tx`set transaction isolation level repeatable read, read only`
  await tx`set local statement_timeout = 0`
  await tx`set local idle_in_transaction_session_timeout = 0`
  const manifest: Manifest = {
    format: backupFormat,
    version: options.version,
    createdAt: new Date().toISOString(),
    tenantId: (await readTenantId(tx)) ?? '',
    migrations: await readApplied(tx),
    tables: await listTables(tx),
  }
  const putJson = (kind: FrameKind, value: unknown) =>
    put(encodeFrame(kind, Buffer.from(JSON.stringify(value))))
  await putJson('manifest', manifest)
  for (const file of await options.readFiles()) await putJson('file', file)
  const rows: Record<string, number> = {}
  for (const table of manifest.tables) {
    await putJson('table', { name: table.name, columns: table.columns })
    rows[table.name] = await dumpTable(tx, table, put, (count) => options.onProgress(table.name, count))
  }
  // Values of sequences are of no snapshot: read last, none is behind a row that was read.
  const end = { rows, sequences: await readSequences(tx) }
  await putJson('end', end)
  return end
}

async function dumpTable(
  tx: Tx,
  { name, columns }: BackedUpTable,
  put: Put,
  onRows: (count: number) => void,
): Promise<number> {
  let rows = 0
  let pieces: Buffer[] = []
  let held = 0
  const flush = async () => {
    if (held === 0) return
    await put(encodeFrame('data', Buffer.concat(pieces)))
    pieces = []
    held = 0
    onRows(rows)
  }
  await tx.copyOut(
    `copy (select ${columns.map(quoteIdentifier).join(', ')} from ${schemaName}.${quoteIdentifier(name)}) to stdout`,
    async (chunk) => {
      rows += countRows(chunk)
      pieces.push(chunk)
      held += chunk.length
      if (held >= dataFrameBytes) await flush()
    },
  )
  await flush()
  return rows
}

/** COPY ends each row with a line feed, and escapes those inside of values. */
export function countRows(chunk: Buffer): number {
  let rows = 0
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) rows++
  return rows
}

async function readSequences(tx: Tx): Promise<Record<string, string>> {
  const rows = await tx<{ name: string; value: string }[]>`
    select sequencename::text as name, last_value::text as value from pg_catalog.pg_sequences
    where schemaname = ${schemaName} and last_value is not null order by 1`
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
}
