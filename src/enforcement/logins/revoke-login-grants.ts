import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Sql } from '../../db/sql.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { isRecordedExempt } from '../guard/recorded-exempt.ts'
import { idleMs } from '../lease.ts'
import type { Note } from '../plan.ts'
import { findLoginGrants, type LoginGrant, writeRevoke } from './find-login-grants.ts'
import type { LoginSnapshot } from './observe-logins.ts'

export interface RevokedGrants {
  readonly revoked: number
  readonly notes: readonly Note[]
}

export const noGrants: RevokedGrants = { revoked: 0, notes: [] }

/** Locks of other sessions must not hold up a turn: what is locked is left to the next one. */
const lockTimeoutMs = 25
const limitMs = 1_500
const mostAtOnce = 100
const mostListed = 3

/** Of one grant alone: privileges, objects and roles that are gone, held locks, rows that another session changed first. */
const isOfOne = /^(0L|0A|2B|40|42|55P03|XX000)/

/**
 * Revokes what login roles were granted themselves. A person could keep by it what a mapped role gave: the role grants it, and the
 * mapping is deleted. Notes have what cannot be revoked. Logins are not refused for it, as the grantor may be another person.
 */
export async function revokeLoginGrants(
  database: Database,
  { logins, version }: Pick<LoginSnapshot, 'logins' | 'version'>,
): Promise<RevokedGrants> {
  const granted = logins.filter(({ isGranted }) => isGranted).map(({ oid }) => oid)
  if (granted.length === 0) return noGrants
  const until = Date.now() + limitMs
  let revoked = 0
  for (;;) {
    const found = await findForeign(database.sql, granted, version)
    if (found.length === 0) return { revoked, notes: [] }
    const done = await database.transaction((tx) => revokeEach(tx, found, version, until))
    revoked += done
    if (done === 0 || Date.now() > until)
      return { revoked, notes: describeLeft(await findForeign(database.sql, granted, version)) }
  }
}

/** Without those that the controller wrote. */
async function findForeign(sql: Sql, logins: readonly number[], version: number): Promise<LoginGrant[]> {
  const found = await findLoginGrants(sql, logins, version, mostAtOnce)
  const exempt = new Set<number>()
  for (const login of new Set(found.filter(({ isMasked }) => isMasked).map((one) => one.login)))
    if (await isRecordedExempt(sql, login)) exempt.add(login)
  return found.filter(({ isMasked, login }) => !isMasked || !exempt.has(login))
}

async function revokeEach(
  tx: Tx,
  grants: readonly LoginGrant[],
  version: number,
  until: number,
): Promise<number> {
  await tx`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
      set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true)`
  let done = 0
  for (const grant of grants) {
    if (Date.now() > until || !(grant.isHeld || grant.isLendable)) continue
    try {
      await tx.attempt(writeSteps(grant, version).join(';\n'))
      done++
    } catch (error) {
      if (!isOfOne.test(sqlstateOf(error))) throw error
    }
  }
  return done
}

/** A privilege is revoked by its grantor alone. REVOKE runs no code of that role, and other sessions never see the membership. */
function writeSteps(grant: LoginGrant, version: number): string[] {
  const grantor = quoteIdentifier(grant.grantor)
  const revoke = [`SET LOCAL ROLE ${grantor}`, writeRevoke(grant, quoteIdentifier), 'RESET ROLE']
  if (grant.isHeld) return revoke
  const options = version >= 160000 ? ' WITH SET TRUE, INHERIT FALSE' : ''
  return [`GRANT ${grantor} TO CURRENT_USER${options}`, ...revoke, `REVOKE ${grantor} FROM CURRENT_USER`]
}

function describeLeft(grants: readonly LoginGrant[]): Note[] {
  const roles = [...new Set(grants.map(({ role }) => role))].sort()
  return roles.map((role) => {
    const own = grants.filter((grant) => grant.role === role)
    const statements = own.map((grant) => writeRevoke(grant, quoteIdentifier)).sort()
    const more = own.length > mostListed ? ` There are more of them.` : ''
    const message = `${quoteIdentifier(role)} was granted privileges itself, which no mapping gives and the role of the binding has not revoked so far. As a superuser or as the grantor, run: ${statements.slice(0, mostListed).join('; ')};${more}`
    return { code: 'LoginRole', target: role, message }
  })
}
