import { createWriteStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { schemaName, type Tx } from './database.ts'
import { quoteLiteral, quoteQualified } from './quote.ts'
import type { Archive } from './retention.ts'

export interface AuditPeriod {
  readonly tenantId: string
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

type Take = (lines: Buffer) => void | Promise<void>

/** Hands over audit entries, the oldest first, as lines of JSON. Memory does not grow with their number. */
export async function exportAudit(
  tx: Tx,
  { tenantId, since, until }: AuditPeriod,
  take: Take,
): Promise<void> {
  const conditions = [
    `tenant_id = ${quoteLiteral(tenantId)}`,
    ...(since ? [`at >= ${quoteLiteral(since.toISOString())}`] : []),
    ...(until ? [`at < ${quoteLiteral(until.toISOString())}`] : []),
  ]
  await copyEntries(tx, `${schemaName}.audit_event where ${conditions.join(' and ')}`, take)
}

/**
 * COPY writes JSON as it is when the quote and the delimiter are characters that JSON has in no text: without them CSV
 * escapes nothing.
 */
async function copyEntries(tx: Tx, from: string, take: Take): Promise<void> {
  await tx`set local statement_timeout = 0`
  await tx.copyOut(
    `copy (select json_build_object('id', id::text,
        'time', to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'action', action, 'target', target,
        'actor', actor, 'before', before, 'after', after, 'requestId', request_id)
      from ${from} order by at, id) to stdout (format csv, quote E'\\x01', delimiter E'\\x02')`,
    take,
  )
}

/**
 * Writes a partition of the audit to a file of its own, gzipped, readable by its owner alone. The file appears when it is
 * whole and on the disk; one that was written before the partition could be dropped is written anew.
 */
export function createArchive(folder: string, tenantId: string): Archive {
  return async (tx, { name }) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const file = join(folder, `${tenantId}-${name}.jsonl.gz`)
    const draft = `${file}.partial`
    const lines = new PassThrough()
    await rm(draft, { force: true })
    const stored = pipeline(lines, createGzip(), createWriteStream(draft, { flags: 'wx', mode: 0o600 }))
    // A full disk ends the reading as well; the error is that of the disk.
    stored.catch((error) => lines.destroy(error))
    await copyEntries(tx, quoteQualified(schemaName, name), (chunk) => put(lines, chunk))
    lines.end()
    await stored
    const handle = await open(draft, 'r')
    await handle.sync()
    await handle.close()
    await rename(draft, file)
  }
}

/** Resolves when the stream has room again; rejects once it has failed. */
export function put(stream: PassThrough, chunk: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => (error ? reject(error) : resolve()))
  })
}
