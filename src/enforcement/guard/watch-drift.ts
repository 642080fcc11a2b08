import type { Database } from '../../db/database.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import { findGuard } from './find-guard.ts'

/** A poll is one DELETE of no rows. */
const pollMs = 1_000

export interface DriftWatch {
  /** The database does not tell of changes: the binding is no superuser's, or nothing is masked. */
  readonly lost: boolean
  close(): void
}

/**
 * Calls `onDrift` within a second of each transaction that changed the catalog. The event trigger leaves a row for each one;
 * a notification would keep every transaction with such a change from PREPARE TRANSACTION.
 */
export async function watchDrift({ sql }: Pick<Database, 'sql'>, onDrift: () => void): Promise<DriftWatch> {
  const guard = await findGuard(sql)
  const [row] = await sql<{ isThere: boolean }[]>`
    select to_regclass(${`${guard}.drift`}) is not null as "isThere"`
  if (guard === null || !row?.isThere) return { lost: true, close: () => {} }
  let lost = false
  let isPolling = false
  const poll = async () => {
    if (isPolling) return
    isPolling = true
    try {
      const rows = await sql`delete from ${sql(guard)}.drift returning 1`
      if (rows.length > 0) onDrift()
    } catch (error) {
      // Nothing is masked any more, so the table is gone. Other failures pass, and the audit goes on meanwhile.
      if (codeOf(error) === sqlstate.undefinedTable) end()
    } finally {
      isPolling = false
    }
  }
  const timer = setInterval(() => void poll(), pollMs).unref()
  const end = () => {
    lost = true
    clearInterval(timer)
  }
  return {
    get lost() {
      return lost
    },
    close: end,
  }
}
