import { limitWaits } from './advisory-locks.ts'
import { schemaName, type Tx } from './database.ts'
import { quoteQualified } from './quote.ts'

/** Weakest first: each one excludes all that the one before excludes. */
export const lockModes = ['share', 'share row exclusive', 'exclusive', 'access exclusive'] as const

export type TableLocks = Readonly<Record<string, (typeof lockModes)[number]>>

/** What requests write last, in their order. */
const lastWritten = ['audit_event', 'revision_counter', 'change_log']

/**
 * A request may hold one of the later tables and wait for an earlier one. It must not become the victim: PostgreSQL looks for
 * circles when a session has waited for a second (`deadlock_timeout`), and ends the one that looks.
 */
const laterWaitMs = 400
/** Of all later tables: the request may have begun to wait before the first of them. */
const allLaterWaitsMs = 800

/**
 * SVC-126: locks what the migrations need, before the first of them. One that took a table after long work on the audit would wait
 * for requests that have this table and wait for the audit. Nothing is held while the first table is waited for. The table that
 * was not free goes to the front of `missed`, which the next attempt locks first: so the order becomes that of the requests.
 */
export async function lockTables(
  tx: Tx,
  needed: readonly TableLocks[],
  missed: string[],
  waitMs: number,
): Promise<void> {
  const modes = addUp(needed)
  const tables = orderTables(await listExisting(tx, [...modes.keys()]), missed)
  let end = Number.POSITIVE_INFINITY
  for (const [at, table] of tables.entries())
    try {
      // A limit of zero would be none.
      const left = Math.max(1, Math.floor(end - performance.now()))
      await tx`select ${limitWaits(tx, at === 0 ? waitMs : Math.min(laterWaitMs, left))}`
      await tx.unsafe(`lock table ${quoteQualified(schemaName, table)} in ${modes.get(table)} mode`)
      if (at === 0) end = performance.now() + allLaterWaitsMs
    } catch (error) {
      missed.unshift(table)
      throw error
    }
  await tx`select ${limitWaits(tx, waitMs)}`
}

function addUp(needed: readonly TableLocks[]): Map<string, (typeof lockModes)[number]> {
  const modes = new Map<string, (typeof lockModes)[number]>()
  for (const [table, mode] of needed.flatMap((locks) => Object.entries(locks))) {
    const known = modes.get(table)
    if (known === undefined || lockModes.indexOf(known) < lockModes.indexOf(mode)) modes.set(table, mode)
  }
  return modes
}

/** Pure. */
export function orderTables(tables: readonly string[], missed: readonly string[]): string[] {
  const rest = tables.filter((table) => !lastWritten.includes(table)).sort()
  const found = [...missed, ...rest, ...lastWritten].filter((table) => tables.includes(table))
  return [...new Set(found)]
}

/** Without tables that a pending migration creates. */
async function listExisting(tx: Tx, names: string[]): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    select relname::text as name from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schemaName} and relkind in ('r', 'p') and relname = any(${names})`
  return rows.map(({ name }) => name)
}
