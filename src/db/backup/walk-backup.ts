import { OperatorError } from '../../kernel/operator-error.ts'
import { countRows } from './dump-store.ts'
import { FrameReader, notABackup } from './frames.ts'
import type { BackedUpTable } from './list-tables.ts'
import { type BackedUpFile, type BackupEnd, backupFormat, type Manifest, readJson } from './manifest.ts'

export interface BackupVisitor {
  manifest?(manifest: Manifest): Promise<void> | void
  file?(file: BackedUpFile): Promise<void> | void
  /** Takes every chunk of the rows. */
  table(table: BackedUpTable, chunks: AsyncIterable<Buffer>): Promise<void>
  end?(end: BackupEnd): Promise<void> | void
}

export interface BackupSummary {
  readonly manifest: Manifest
  readonly end: BackupEnd
}

/**
 * Reads a backup from its first frame to its last, and refuses one that lacks a table, a row or its end. Whatever the
 * visitor did before a refusal is for the caller to undo.
 */
export async function walkBackup(
  chunks: AsyncIterable<Uint8Array>,
  visitor: BackupVisitor,
): Promise<BackupSummary> {
  const reader = new FrameReader(chunks)
  const manifest = readJson<Manifest>(await reader.take('manifest'))
  if (manifest.format !== backupFormat)
    throw new OperatorError(
      `The backup has format ${manifest.format}, and this version reads ${backupFormat}: restore it by the version that made it (${manifest.version}).`,
    )
  await visitor.manifest?.(manifest)
  for await (const payload of reader.takeAll('file')) await visitor.file?.(readJson<BackedUpFile>(payload))
  const rows: Record<string, number> = {}
  for (const expected of manifest.tables) {
    const table = readJson<BackedUpTable>(await reader.take('table'))
    if (table.name !== expected.name) throw notABackup(`the table ${expected.name} is missing`)
    rows[table.name] = 0
    const counted = async function* () {
      for await (const chunk of reader.takeAll('data')) {
        rows[table.name] = (rows[table.name] ?? 0) + countRows(chunk)
        yield chunk
      }
    }
    await visitor.table(table, counted())
  }
  const end = readJson<BackupEnd>(await reader.take('end'))
  for (const { name } of manifest.tables)
    if (end.rows[name] !== rows[name]) throw notABackup(`${name} has rows that were not written`)
  if ((await reader.peek()) !== undefined) throw notABackup('it goes on behind its end')
  await visitor.end?.(end)
  return { manifest, end }
}
