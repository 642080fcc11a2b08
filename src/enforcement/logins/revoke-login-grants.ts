import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
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
const mostPrivileges = 10

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
  const tried = new Set<string>()
  for (;;) {
    const found = await findLoginGrants(database.sql, granted, version, { most: mostAtOnce })
    const next = found.filter(({ key, isHeld, isLendable }) => (isHeld || isLendable) && !tried.has(key))
    if (next.length === 0 || Date.now() > until)
      return { revoked: tried.size - (await countLeft(found)), notes: describeLeft(found) }
    const keys = await database.transaction((tx) => revokeEach(tx, next, version, until))
    for (const key of keys) tried.add(key)
  }

  /** PostgreSQL answers a REVOKE that changes nothing like any other. */
  async function countLeft(found: readonly LoginGrant[]): Promise<number> {
    if (found.length === 0 || tried.size === 0) return 0
    return (await findLoginGrants(database.sql, granted, version, { keys: [...tried] })).length
  }
}

/** Returns the keys of those that were tried. */
async function revokeEach(
  tx: Tx,
  grants: readonly LoginGrant[],
  version: number,
  until: number,
): Promise<string[]> {
  await tx`
    select set_config('search_path', 'pg_catalog, pg_temp', true),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, true),
      set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true)`
  const tried: string[] = []
  for (const grant of grants) {
    if (Date.now() > until) break
    tried.push(grant.key)
    try {
      await tx.attempt(writeSteps(grant, version).join(';\n'))
    } catch (error) {
      if (!isOfOne.test(sqlstateOf(error))) throw error
    }
  }
  return tried
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
    const statements = own.map(writeRemedy).sort().slice(0, mostListed)
    const isCut = own.length > mostListed || own.some(({ privileges }) => privileges.length > mostPrivileges)
    const more = isCut ? ' There are more of them.' : ''
    const message = `${quoteIdentifier(role)} was granted privileges itself, which no mapping gives and the role of the binding has not revoked so far. As a superuser, or as a role that can act as the grantor, run: ${statements.join(' ')}${more}`
    return { code: 'LoginRole', target: role, message }
  })
}

/** A superuser who does not take on the grantor would revoke as the owner. A grantor that is one itself has to be none for the REVOKE. */
function writeRemedy(grant: LoginGrant): string {
  const grantor = quoteIdentifier(grant.grantor)
  const revoke = [`SET ROLE ${grantor}`, writeRevoke(grant, quoteIdentifier, mostPrivileges), 'RESET ROLE']
  const alter = (attribute: string) => `ALTER ROLE ${grantor} ${attribute}`
  const steps = grant.isRisen
    ? ['BEGIN', alter('NOSUPERUSER'), ...revoke, alter('SUPERUSER'), 'COMMIT']
    : revoke
  return steps.map((step) => `${step};`).join(' ')
}
