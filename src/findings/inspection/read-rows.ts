import type { Database } from '../../db/database.ts'
import { UnreadableAnswer } from '../../db/guard-answers.ts'
import { quoteIdentifier, quoteQualified } from '../../db/quote.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'

export interface RowSource {
  readonly oid: number
  readonly columns: readonly string[]
}

/** Values as PostgreSQL writes them, in the order of the columns. */
export type TextRow = readonly (string | null)[]

const mostParts = 50
const mostBytes = 8_388_608
/** What a server may send until it heeds that it is cancelled. */
const mostSentBytes = 268_435_456

/**
 * Reads the first rows of a table and of its parts, by COPY. A SELECT would be planned, and the planner runs functions
 * in expressions of indexes, statistics and partition keys: code of the table's owner, with the privileges of the
 * binding. So would a view that takes the place of the table between the look at the catalog and the SELECT. COPY
 * plans nothing, refuses a view, and writes values by the functions of their types alone. It also refuses generated
 * columns, whose values are null here.
 */
export async function readRows(
  database: Pick<Database, 'sql'>,
  tx: Tx,
  { oid, columns }: RowSource,
  limit: number,
): Promise<TextRow[]> {
  const parts = await tx<{ schema: string; name: string; pid: number; stored: string[] }[]>`
    with recursive part as (
      select ${oid}::int8::oid as oid union select i.inhrelid from part
      join pg_catalog.pg_inherits i on i.inhparent = part.oid
    )
    select n.nspname::text as schema, c.relname::text as name, pg_catalog.pg_backend_pid() as pid,
      array(select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0
        and not a.attisdropped and a.attgenerated = '' and a.attname = any(${columns}::text[]::name[])) as stored
    from part join pg_catalog.pg_class c using (oid) join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' order by c.oid limit ${mostParts}`
  const rows: TextRow[] = []
  for (const { schema, name, pid, stored } of parts) {
    const left = limit - rows.length
    if (left <= 0) break
    if (stored.length === 0) continue
    const statement = `COPY ${quoteQualified(schema, name)} (${stored.map(quoteIdentifier).join(', ')}) TO STDOUT`
    const places = columns.map((column) => stored.indexOf(column))
    for (const row of await copyRows(tx, statement, left, () => cancel(database, pid)))
      rows.push(places.map((at) => row[at] ?? null))
  }
  return rows
}

/** COPY knows no limit: it is cancelled when enough has come, and its savepoint undone. */
async function copyRows(tx: Tx, statement: string, limit: number, stop: () => Promise<void>) {
  const chunks: Buffer[] = []
  let [lines, bytes] = [0, 0]
  let stopped: Promise<void> | undefined
  const take = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > mostSentBytes) throw new UnreadableAnswer()
    if (stopped) return
    chunks.push(chunk)
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, at + 1)) lines++
    if (lines >= limit || bytes >= mostBytes) stopped = stop()
  }
  try {
    await tx.savepoint(() => tx.copyOut(statement, take))
  } catch (error) {
    if (!stopped || sqlstateOf(error) !== sqlstate.queryCanceled) throw error
  } finally {
    // A signal that comes later would end the next statement.
    await stopped
  }
  const text = Buffer.concat(chunks).toString()
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n', limit)
    .filter((_, at) => at < lines)
    .map(readLine)
}

const newline = 0x0a

async function cancel({ sql }: Pick<Database, 'sql'>, pid: number): Promise<void> {
  // Where it cannot be cancelled, it ends with the limit of its time.
  await sql`select pg_catalog.pg_cancel_backend(${pid})`.catch(() => {})
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

/** One row in the text format of COPY. */
function readLine(line: string): TextRow {
  return line
    .split('\t')
    .map((field) =>
      field === '\\N' ? null : field.replace(/\\(.)/g, (_, letter: string) => escapes[letter] ?? letter),
    )
}
