import { quoteIdentifier } from '../../../db/quote.ts'
import type { Sql } from '../../../db/sql.ts'
import { sqlstateOf } from '../../../db/sqlstate.ts'
import { sqlstate } from '../../../kernel/sqlstate.ts'
import { findLockHolders, type SessionsInTheWay } from '../../../sessions/in-the-way.ts'
import { NameHeld } from '../../../sessions/name-holders.ts'
import { describeFinding, explainFailure } from '../../explain-failure.ts'
import type { Policy } from '../../policy.ts'
import type { Connections, Examiner } from '../connections.ts'
import type { PolicyReader } from '../policy-reader.ts'
import type { Source } from '../source.ts'
import { describeFailure } from './judge-unfinished.ts'

interface Parts {
  readonly connections: Connections
  readonly policies: PolicyReader
  readonly source: Source
  readonly preflight: Examiner
}

interface Cause {
  readonly state: 'Pending' | 'Failed'
  readonly reason: string
  /** Sessions that were in the way of everything, and are gone. */
  readonly ended: number
}

export const isOutOfLocks = (error: unknown) => sqlstateOf(error) === sqlstate.outOfMemory

/**
 * Why a turn failed, with what the database itself tells of it: privileges that are missing, as statements, and
 * sessions that hold every lock of the server, or a name that the masks need.
 */
export async function findCause(
  error: unknown,
  databaseId: string,
  parts: Parts,
  inTheWay: SessionsInTheWay,
): Promise<Cause> {
  const { passing, reason, lacksPrivilege } = explainFailure(error)
  const plain: Cause = { state: passing ? 'Pending' : 'Failed', reason, ended: 0 }
  try {
    if (lacksPrivilege) return { ...plain, reason: (await findMissing(databaseId, parts)) ?? reason }
    const isHeld = error instanceof NameHeld
    if (!isHeld && !isOutOfLocks(error)) return plain
    const database = await parts.connections.open(databaseId)
    if (!database) return plain
    const sql = (!isHeld && parts.connections.keptOf(databaseId)) || database.sql
    const { exemptRoles: exempt } = await readPolicy(databaseId, sql, parts)
    const holders = isHeld ? error.holders : await findLockHolders(sql)
    const waiting = [{ target: '', oids: [], holders, isClosed: false }]
    const { blockers, ended } = await inTheWay.clear(databaseId, { sql, exempt, waiting })
    const effect = isHeld ? 'Masked columns are denied until it ends.' : 'Masks stay as they are until then.'
    return { ...plain, reason: describeFailure(isHeld ? error.message : reason, effect, blockers), ended }
  } catch {
    return plain
  }
}

/** The missing privileges as statements; null when none is missing, or the database cannot be asked. */
export async function findMissing(databaseId: string, parts: Parts): Promise<string | null> {
  try {
    const database = await parts.connections.open(databaseId)
    if (!database) return null
    const { rules } = await readPolicy(databaseId, database.sql, parts)
    const { refusals } = await parts.preflight.examine(database.sql, rules)
    return refusals.length === 0 ? null : refusals.map(describeFinding).join(' ')
  } catch (error) {
    // A session needs no other privilege than CONNECT to look at the catalog.
    const target = parts.connections.targetOf(databaseId)
    if (sqlstateOf(error) !== sqlstate.insufficientPrivilege || !target) return null
    const { database, user } = target.login
    const grant = `GRANT CONNECT ON DATABASE ${quoteIdentifier(database)} TO ${quoteIdentifier(user)}`
    return [
      'The role of the binding may not connect to the database.',
      `Masks that were made stay as they are; what was changed since is not enforced. Run: ${grant};`,
    ].join(' ')
  }
}

async function readPolicy(databaseId: string, sql: Sql, { policies, source }: Parts): Promise<Policy> {
  return await policies.read(sql, databaseId).catch(() => source.readPolicy(databaseId))
}
