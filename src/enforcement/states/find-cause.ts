import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Policy } from '../policy.ts'
import { describeFinding, examine } from '../preflight/preflight.ts'
import { LockHoards } from '../sessions/lock-hoards.ts'
import { NameHeld, NameHolders } from '../sessions/name-holders.ts'
import type { IsHeld } from '../sessions/release-watch.ts'
import { describeReadable } from './describe-readable.ts'
import { explainFailure } from './explain-failure.ts'

export interface Cause {
  readonly reason: string
  readonly state: 'Pending' | 'Failed'
  /** Something may have changed after so long; null: nothing is known of it. */
  readonly dueMs: number | null
  readonly isHeld?: IsHeld
}

/** Opens a bound database to ask it about a failure. Null: it is not bound. */
type Open = () => Promise<BoundPlace | null>

export interface BoundPlace {
  readonly databaseId: string
  readonly database: Database
  readonly policy: Policy
  /** The names by which the binding logs in. */
  readonly login: { readonly user: string; readonly database: string }
}

/** Sessions in the way of everything, which are ended after a limit. */
export class Obstructions {
  readonly hoards: LockHoards
  readonly names: NameHolders

  constructor(limitMs: number) {
    this.hoards = new LockHoards(limitMs)
    this.names = new NameHolders(limitMs)
  }

  /** The database could be changed: nothing is in the way of everything. */
  forget(databaseId: string): void {
    this.hoards.forget(databaseId)
    this.names.forget(databaseId)
  }
}

/**
 * The cause of a failure with what the database itself tells of it: privileges that are missing, as statements, and
 * sessions that hold every lock of the server, or a name that the masks need.
 */
export async function findCause(error: unknown, open: Open, { hoards, names }: Obstructions): Promise<Cause> {
  const { passing, reason, lacksPrivilege } = explainFailure(error)
  const state = passing ? 'Pending' : 'Failed'
  const plain = { reason, state, dueMs: null } as const
  try {
    const isHeld = error instanceof NameHeld
    const place = lacksPrivilege || isHeld || isOutOfLocks(error) ? await open() : null
    if (!place) return plain
    if (lacksPrivilege) {
      const missing = (await findMissing(open)) ?? reason
      const effect = await describeReadable(place.database.sql, place.policy).catch(() => '')
      return { ...plain, reason: `${missing} ${effect}`.trim() }
    }
    const { databaseId, database, policy } = place
    const cleared = isHeld
      ? await names.clear(database.sql, databaseId, policy.exemptRoles, error)
      : await hoards.clear(database.sql, databaseId, policy.exemptRoles)
    return { state, ...cleared }
  } catch {
    return plain
  }
}

export function isOutOfLocks(error: unknown): boolean {
  return sqlstateOf(error) === sqlstate.outOfMemory
}

/** The missing privileges as statements; null when none is missing, or the database cannot be asked. */
export async function findMissing(open: Open): Promise<string | null> {
  const place = await open().catch(() => null)
  if (!place) return null
  try {
    const { refusals } = await examine(place.database.sql, place.policy.rules)
    return refusals.length === 0 ? null : refusals.map(describeFinding).join(' ')
  } catch (error) {
    // A session needs no other privilege than CONNECT to look at the catalog.
    return sqlstateOf(error) === sqlstate.insufficientPrivilege ? describeClosed(place) : null
  }
}

function describeClosed({ login }: BoundPlace): string {
  const statement = `GRANT CONNECT ON DATABASE ${quoteIdentifier(login.database)} TO ${quoteIdentifier(login.user)}`
  return `The role of the binding may not connect to the database. Masks that were made stay as they are; what was changed since is not enforced. Run: ${statement};`
}
