import type { Sql } from '../../db/sql.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'

/** Catalogs that a change of privileges, roles, names, tables, views or code of them writes. */
const catalogs = [
  ...['pg_class', 'pg_attribute', 'pg_auth_members', 'pg_authid', 'pg_proc', 'pg_rewrite', 'pg_policy'],
  ...['pg_type', 'pg_namespace', 'pg_inherits', 'pg_db_role_setting', 'pg_constraint', 'pg_default_acl'],
  ...['pg_database', 'pg_trigger', 'pg_parameter_acl'],
].map((name) => `pg_catalog.${name}`)

const selectActivity = (sql: Sql) => sql`
  case when pg_catalog.current_setting('track_counts')::boolean then (
    select sum(pg_catalog.pg_stat_get_tuples_inserted(c.oid) + pg_catalog.pg_stat_get_tuples_updated(c.oid)
      + pg_catalog.pg_stat_get_tuples_deleted(c.oid))::text
    from (select pg_catalog.to_regclass(name)::oid as oid from unnest(${catalogs}::text[]) name) c) end`

/**
 * The number of rows that were written to these catalogs, which PostgreSQL counts anyway: within two seconds of a
 * change, ten where its session then idles. Null: it does not count.
 */
export async function readActivity(sql: Sql): Promise<string | null> {
  const [row] = await sql<{ activity: string | null }[]>`select ${selectActivity(sql)} as activity`
  return row?.activity ?? null
}

export interface Seen {
  readonly activity: string | null
  /** Transactions changed the catalog since the last reading, as an event trigger noted. */
  readonly hasDrift: boolean
  /** A session waits for a lock on a catalog of the whole server. */
  readonly isAwaited: boolean
}

const selectAwaited = (sql: Sql) => sql`exists (
  select from pg_catalog.pg_lock_status() l where l.locktype = 'relation' and l.database = 0 and not l.granted)`

/** A notification in place of the rows would keep every transaction with such a change from PREPARE TRANSACTION. */
export async function readSeen(sql: Sql, guard: string | null): Promise<Seen> {
  if (guard !== null)
    try {
      const [row] = await sql<Seen[]>`
        with noted as (delete from ${sql(guard)}.drift returning 1)
        select ${selectActivity(sql)} as activity, exists (select from noted) as "hasDrift",
          ${selectAwaited(sql)} as "isAwaited"`
      if (row) return row
    } catch (error) {
      // Nothing is masked any more.
      if (codeOf(error) !== sqlstate.undefinedTable) throw error
    }
  const [row] = await sql<Seen[]>`
    select ${selectActivity(sql)} as activity, false as "hasDrift", ${selectAwaited(sql)} as "isAwaited"`
  return row ?? unseen
}

export const unseen: Seen = { activity: null, hasDrift: false, isAwaited: false }

/** What a full look found that changed nothing and left nothing open. */
export interface Quiet {
  readonly activity: string
  /** The number of the last change of the policy that it enforced. */
  readonly lastChange: number
}

/** What is known after a turn. */
interface Looked {
  /** The schema of our records, where an event trigger notes changes. */
  readonly guard: string | null
  readonly quiet: Quiet | null
  /** The turn changed something, or looked at some tables alone. */
  readonly needsLook: boolean
}

interface Watched extends Looked {
  readonly at: number
}

const readEveryMs = 1_500
/** Counters lag behind by so long: where audits are as frequent, each is a full look. */
const lagMs = 12_000
/** What no counter tells is found by then. */
const mostMs = 600_000
/** Changes of our own move the counters: a full look comes so long after the first of a burst. */
const ownMs = 8_000

interface Parts {
  readonly auditEveryMs: number
  readonly read: (databaseId: string, guard: string | null) => Promise<Seen>
  /** Takes a full look. */
  readonly audit: (databaseId: string) => void
  /** Gives back the locks that the node keeps on catalogs of the server. */
  readonly giveWay: (databaseId: string) => void
}

/**
 * Reads what PostgreSQL and the event trigger tell of changes, and has a database looked at then. Programs with many
 * temporary tables move the counters: looks that find nothing become as rare as audits are.
 */
export class CatalogWatch {
  readonly #parts: Parts
  readonly #watched = new Map<string, Watched>()
  /** From a full look to the next one that moving counters ask for. */
  readonly #gaps = new Map<string, number>()
  /** When the full look after changes of our own is due. */
  readonly #owed = new Map<string, number>()
  readonly #reading = new Set<string>()
  #readAt = 0

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Before a turn, and where a database is not bound any more. */
  forget(databaseId: string): void {
    this.#watched.delete(databaseId)
  }

  /** After a turn. */
  watch(databaseId: string, looked: Looked): void {
    const at = performance.now()
    const isFrequent = this.#parts.auditEveryMs <= lagMs
    if (!looked.needsLook || isFrequent) this.#owed.delete(databaseId)
    else if (!this.#owed.has(databaseId)) this.#owed.set(databaseId, at + ownMs)
    // That look found something.
    if (looked.needsLook) this.#gaps.delete(databaseId)
    this.#watched.set(databaseId, { ...looked, quiet: isFrequent ? null : looked.quiet, at })
  }

  /** True: a full look now would find what the last one did. */
  async isQuiet(databaseId: string, lastChange: number): Promise<boolean> {
    const { quiet, at, guard } = this.#watched.get(databaseId) ?? { at: 0 }
    if (!quiet || quiet.lastChange !== lastChange || performance.now() - at > mostMs) return false
    const { activity, hasDrift } = await this.#parts.read(databaseId, guard ?? null)
    return !hasDrift && activity === quiet.activity
  }

  /** Reads these databases, unless that is done just now. */
  async readDue(databaseIds: readonly string[]): Promise<void> {
    if (performance.now() < this.#readAt) return
    this.#readAt = performance.now() + readEveryMs
    await Promise.all(databaseIds.map((databaseId) => this.#readOnce(databaseId)))
  }

  async #readOnce(databaseId: string): Promise<void> {
    // It may wait for a catalog itself, behind a session that waits for our locks.
    if (this.#reading.has(databaseId)) return this.#parts.giveWay(databaseId)
    this.#reading.add(databaseId)
    try {
      await this.#read(databaseId)
    } finally {
      this.#reading.delete(databaseId)
    }
  }

  async #read(databaseId: string): Promise<void> {
    const watched = this.#watched.get(databaseId)
    const seen = await this.#parts.read(databaseId, watched?.guard ?? null).catch(() => unseen)
    if (seen.isAwaited) this.#parts.giveWay(databaseId)
    // A turn has come in between.
    if (!watched || (this.#watched.get(databaseId) !== watched && !seen.hasDrift)) return
    const { quiet } = watched
    const owedAt = this.#owed.get(databaseId) ?? Number.POSITIVE_INFINITY
    const now = performance.now()
    const gapMs = this.#gaps.get(databaseId) ?? readEveryMs
    const hasMoved = quiet !== null && seen.activity !== quiet.activity
    if (quiet && !hasMoved) this.#gaps.delete(databaseId)
    const isDue = hasMoved && now - watched.at >= gapMs
    if (!seen.hasDrift && owedAt > now && !isDue) return
    if (isDue) this.#gaps.set(databaseId, Math.min(gapMs * 2, this.#parts.auditEveryMs))
    this.#watched.set(databaseId, { ...watched, quiet: null })
    this.#parts.audit(databaseId)
  }
}
