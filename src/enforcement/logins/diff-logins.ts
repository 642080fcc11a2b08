import { quoteIdentifier, quoteLiteral } from '../../db/quote.ts'
import type { Step } from '../plan.ts'
import { type Mark, type Owner, type Sign, writeMark } from './mark.ts'
import type { LoginSnapshot, Membership, ObservedLogin } from './observe-logins.ts'

/** The login role that a principal is to have, and its memberships. */
export interface WantedLogin {
  readonly principalId: string
  readonly role: string
  /** Roles that it is to be a member of, and no others. */
  readonly memberOf: readonly string[]
}

/** The changes of one login role: all of them or none. */
export interface LoginChange {
  readonly login: ObservedLogin
  readonly steps: readonly Step[]
  /** Comes last, where the mark is to say what it said: another node may mark the role meanwhile (`rewriteMark`). */
  readonly rewrite?: Step | undefined
  /** The fallback where they are refused: NOLOGIN, and every membership that can be revoked. */
  readonly otherwise: readonly Step[]
  /** What they revoke, for a role that an open or prepared transaction is changing. Each by itself: no lock delays all. */
  readonly revoking: readonly Step[]
  /** Something is taken from it that open sessions may still use. */
  readonly isLosing: boolean
}

export interface LoginPlan {
  /** Comes first: roles that bear a name which is now another's. */
  readonly aside: readonly Step[]
  /** Where these have to wait: what all changes revoke, by the names that the roles have now. */
  readonly unmoved: readonly Step[]
  readonly changes: readonly LoginChange[]
}

/**
 * Pure: what takes the login roles that are there to what they should be. A role that loses something is marked in the same
 * transaction: its sessions end after it, even if we do not live to end them.
 */
export function diffLogins(
  snapshot: LoginSnapshot,
  wanted: ReadonlyMap<string, WantedLogin>,
  sign: Sign,
): LoginPlan {
  const holders = new Map(snapshot.logins.map((login) => [login.name, login]))
  const inTheWay = new Set(
    [...wanted.values()].flatMap(({ principalId, role }) => {
      const holder = holders.get(role)
      return holder && holder.mark.principalId !== principalId ? [holder] : []
    }),
  )
  const logins = snapshot.logins.map((login) =>
    inTheWay.has(login) ? { ...login, name: formerName(login, sign) } : login,
  )
  return {
    aside: [...inTheWay].map((login) => rename(login.name, formerName(login, sign))),
    unmoved: [...(inTheWay.size === 0 ? [] : snapshot.logins)].flatMap(
      (login) => diffLogin(snapshot, login, wanted.get(login.mark.principalId), sign).revoking,
    ),
    changes: logins
      .map((login) => diffLogin(snapshot, login, wanted.get(login.mark.principalId), sign))
      .filter(({ steps, rewrite }) => steps.length > 0 || rewrite),
  }
}

function diffLogin(
  snapshot: LoginSnapshot,
  login: ObservedLogin,
  wanted: WantedLogin | undefined,
  sign: Sign,
): LoginChange {
  const { version, taken } = snapshot
  const ending = endingOf(snapshot)
  // A name that belongs to another role is not taken.
  const name = wanted === undefined || taken.has(wanted.role) ? login.name : wanted.role
  const steps = name === login.name ? [] : [rename(login.name, name)]
  const role = quoteIdentifier(name)
  const isKept = ({ role: of, isPlain }: Membership) => isPlain && (wanted?.memberOf.includes(of) ?? false)
  const lost = login.memberships.filter((membership) => !isKept(membership))
  const reduced = [...login.excess, ...(wanted === undefined && login.canLogin ? ['NOLOGIN'] : [])]
  steps.push(...alter(role, [...reduced, ...(wanted !== undefined && !login.canLogin ? ['LOGIN'] : [])]))
  steps.push(...revokeAll(role, login, lost))
  for (const of of wanted?.memberOf ?? [])
    if (!login.memberships.some((each) => each.role === of && isKept(each)))
      steps.push(grant(role, of, version))
  const isLosing = lost.length > 0 || reduced.length > 0
  // Also where it is marked already: another node that has ended its sessions does not remove this mark (`replaceMark`).
  const isEnding = isLosing || login.mark.ending
  if (isLosing || (login.isAdopted && isEnding)) steps.push(mark(role, login, ending, sign))
  const rewrite = login.isAdopted && !isEnding ? mark(role, login, login.mark, sign) : undefined
  // By the name that it has: to be renamed it may have to wait as well.
  const former = quoteIdentifier(login.name)
  const revoking = [
    ...revokeAll(former, login, lost),
    ...alter(former, reduced),
    ...(isLosing ? [mark(former, login, ending, sign)] : []),
  ]
  return { login, steps, rewrite, otherwise: lockOut(snapshot, login, lost, sign), revoking, isLosing }
}

/** Each by itself: what cannot be done does not keep the rest from being done. */
function lockOut(
  snapshot: LoginSnapshot,
  login: ObservedLogin,
  lost: readonly Membership[],
  sign: Sign,
): Step[] {
  const role = quoteIdentifier(login.name)
  return [
    ...(login.canLogin ? [{ sql: `ALTER ROLE ${role} NOLOGIN`, why: 'it has more than it should' }] : []),
    ...revokeAll(role, login, lost),
    ...(login.canLogin ? [mark(role, login, endingOf(snapshot), sign)] : []),
  ]
}

function endingOf({ hasOthers }: LoginSnapshot): Pick<Mark, 'ending' | 'left'> {
  return { ending: true, left: hasOthers ? null : undefined }
}

function alter(role: string, attributes: readonly string[]): Step[] {
  const why = 'a login role has nothing but its memberships'
  return attributes.length === 0 ? [] : [{ sql: `ALTER ROLE ${role} ${attributes.join(' ')}`, why }]
}

function revokeAll(role: string, { intruders }: ObservedLogin, lost: readonly Membership[]): Step[] {
  return [
    ...lost.map((membership) => revoke(role, membership)),
    ...intruders.map(({ member, grantor }) => ({
      sql: `REVOKE ${role} FROM ${quoteIdentifier(member)}${by(grantor)} CASCADE`,
      why: 'no other role acts as a login role',
    })),
  ]
}

export function grant(role: string, of: string, version: number): Step {
  const options = version >= 160000 ? ' WITH INHERIT TRUE, SET TRUE, ADMIN FALSE' : ''
  return { sql: `GRANT ${quoteIdentifier(of)} TO ${role}${options}`, why: 'a mapping gives this role' }
}

function revoke(role: string, { role: of, grantor }: Membership): Step {
  return {
    sql: `REVOKE ${quoteIdentifier(of)} FROM ${role}${by(grantor)} CASCADE`,
    why: 'no mapping gives this role',
  }
}

function by(grantor: string | null): string {
  return grantor === null ? '' : ` GRANTED BY ${quoteIdentifier(grantor)}`
}

export function mark(
  role: string,
  { oid, mark: { databaseId, principalId } }: { readonly oid: number; readonly mark: Owner },
  { ending, left }: Pick<Mark, 'ending' | 'left'>,
  sign: Sign,
): Step {
  const comment = writeMark({ databaseId, principalId, ending, left }, oid, sign)
  return {
    sql: `COMMENT ON ROLE ${role} IS ${quoteLiteral(comment)}`,
    why: ending ? 'its sessions are to end' : 'it is ours',
  }
}

function rename(from: string, to: string): Step {
  return {
    sql: `ALTER ROLE ${quoteIdentifier(from)} RENAME TO ${quoteIdentifier(to)}`,
    why: 'it bears the name of its principal',
  }
}

/** Unforeseeable, so that no role can take the name first. */
function formerName({ oid }: ObservedLogin, sign: Sign): string {
  return `masquerade former login ${oid}/${sign(`former login ${oid}`).slice(0, 12)}`
}
