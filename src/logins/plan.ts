import type { Note } from '../contracts/note.ts'
import { quoteIdentifier, quoteLiteral, revokeMembership } from '../db/quote.ts'
import type { LoginOutcome } from '../masks/control/login-port.ts'
import { describeFinding } from '../masks/unfit.ts'
import { objectTo } from './mapped-roles.ts'
import { type Mark, type Owner, type Sign, writeMark } from './mark.ts'
import type {
  LoginChange,
  LoginPlan,
  LoginSnapshot,
  Membership,
  ObservedLogin,
  WantedLogin,
} from './model.ts'

/** Login roles as they are, as they should be, and the changes between the two. */
export interface PlannedLogins {
  readonly snapshot: LoginSnapshot
  /** By principal. One whose login role owns masked tables has none. */
  readonly wanted: ReadonlyMap<string, WantedLogin>
  readonly plan: LoginPlan
  readonly notes: readonly Note[]
}

const mostListed = 3

/** Pure: what takes the login roles that are there to what they should be. */
export function planLogins(snapshot: LoginSnapshot, sign: Sign): PlannedLogins {
  const { wanted, notes } = desireLogins(snapshot)
  return {
    snapshot,
    wanted,
    plan: diffLogins(snapshot, wanted, sign),
    notes: [...notes, ...snapshot.logins.flatMap((login) => noteLogin(snapshot, login))],
  }
}

export function refuse(planned: PlannedLogins, principalId: string): LoginOutcome | undefined {
  const { snapshot, wanted } = planned
  const login = findLogin(planned, principalId)
  if (login && snapshot.owned.has(login.oid)) return { kind: 'ownsMasked', role: login.name }
  const role = wanted.get(principalId)?.role
  if (role === undefined) return { kind: 'noRole' }
  if (snapshot.taken.has(role)) return { kind: 'nameTaken', role }
  if (login || snapshot.createsRoles) return undefined
  return { kind: 'notAllowed', statement: `ALTER ROLE ${quoteIdentifier(snapshot.user)} CREATEROLE` }
}

export function findLogin(
  { snapshot }: Pick<PlannedLogins, 'snapshot'>,
  principalId: string,
): ObservedLogin | undefined {
  return snapshot.logins.find(({ mark }) => mark.principalId === principalId)
}

export function isEmpty({ aside, changes }: LoginPlan): boolean {
  return aside.length === 0 && changes.length === 0
}

/**
 * The roles of each principal: the mapped ones that exist and open no way around the masks. A role may have become
 * harmful since it was mapped. A principal without any such role gets no login role.
 */
function desireLogins(snapshot: LoginSnapshot): { wanted: Map<string, WantedLogin>; notes: Note[] } {
  const { rights, mapped, logins, owned } = snapshot
  const notes: Note[] = []
  const usable = new Map<string, 'always' | 'where it is held'>()
  for (const role of [...new Set(rights.flatMap(({ memberOf }) => memberOf))].sort()) {
    const reached = mapped.get(role)
    const note = (message: string) => notes.push({ code: 'MappedRole', target: role, message })
    if (!reached) {
      note(`No role of the database has the name that is mapped: ${role}.`)
      continue
    }
    const objections = objectTo(reached)
    if (objections.length === 0) usable.set(role, 'always')
    else if (objections.every(({ code }) => code === 'NotGrantable')) usable.set(role, 'where it is held')
    for (const objection of objections) note(describeFinding(objection))
  }
  const own = new Map(logins.map((login) => [login.mark.principalId, login]))
  const wanted = new Map<string, WantedLogin>()
  for (const { principalId, memberOf, ...one } of rights) {
    const login = own.get(principalId)
    const isHeld = (role: string) => login?.memberships.some((each) => each.role === role)
    const roles = memberOf.filter(
      (role) => usable.get(role) === 'always' || (usable.has(role) && isHeld(role)),
    )
    const ownsMasked = login !== undefined && owned.has(login.oid)
    if (roles.length > 0 && !ownsMasked) wanted.set(principalId, { ...one, principalId, memberOf: roles })
  }
  return { wanted, notes }
}

function noteLogin({ owned, granted }: LoginSnapshot, { oid, name }: ObservedLogin): Note[] {
  const role = quoteIdentifier(name)
  const list = (objects: readonly string[]) =>
    objects.slice(0, mostListed).join(', ') +
    (objects.length > mostListed ? ` and ${objects.length - mostListed} more` : '')
  const tables = owned.get(oid) ?? []
  const objects = granted.get(oid) ?? []
  const messages = [
    tables.length > 0 &&
      `${role} owns masked tables: ${list(tables)}. An owner sees raw values, so logins as it are refused until \
another role owns them. Run ALTER TABLE … OWNER TO … for each, or REASSIGN OWNED BY ${role} TO … for all that it \
owns; or exempt the principal.`,
    objects.length > 0 &&
      `${role} was granted privileges itself, which no mapping gives: on ${list(objects)}. \
Run REVOKE ALL ON … FROM ${role} for each, as a role that may act as the grantor.`,
  ]
  return messages.flatMap((message) => (message ? [{ code: 'LoginRole', target: name, message }] : []))
}

function diffLogins(
  snapshot: LoginSnapshot,
  wanted: ReadonlyMap<string, WantedLogin>,
  sign: Sign,
): LoginPlan {
  const holders = new Map(snapshot.logins.map((login) => [login.name, login]))
  const inTheWay = [...wanted.values()].flatMap(({ principalId, role }) => {
    const holder = holders.get(role)
    return holder && holder.mark.principalId !== principalId ? [holder] : []
  })
  const former = new Map(inTheWay.map((login) => [login, formerName(login, sign)]))
  return {
    aside: [...former].map(([login, name]) => rename(login.name, name)),
    changes: snapshot.logins
      .map((login) =>
        diffLogin(snapshot, login, former.get(login) ?? login.name, wanted.get(login.mark.principalId), sign),
      )
      .filter((one) => [...one.closing, ...one.marking, ...one.opening].length > 0),
  }
}

/**
 * A role that loses something is marked in the same transaction: its sessions end after it, even if we do not live to
 * end them. `moved`: its name after those in the way were renamed.
 */
function diffLogin(
  { version, taken }: LoginSnapshot,
  login: ObservedLogin,
  moved: string,
  wanted: WantedLogin | undefined,
  sign: Sign,
): LoginChange {
  const role = quoteIdentifier(login.name)
  const ending = mark(role, login, { ending: true }, sign)
  const isKept = ({ role: of, isPlain }: Membership) => isPlain && (wanted?.memberOf.includes(of) ?? false)
  const kept = new Set(login.memberships.filter(isKept).map(({ role: of }) => of))
  const lost = login.memberships.filter((membership) => !isKept(membership))
  const reduced = [...login.excess, ...(wanted === undefined && login.canLogin ? ['NOLOGIN'] : [])]
  // A name that belongs to another role is not taken.
  const name = wanted === undefined || taken.has(wanted.role) ? moved : wanted.role
  const granted = (wanted?.memberOf ?? []).filter((of) => !kept.has(of))
  return {
    login,
    closing: [
      ...lost.map((each) => revokeMembership(each.role, login.name, each.grantor)),
      ...login.intruders.map(({ member, grantor }) => revokeMembership(login.name, member, grantor)),
      ...alter(role, reduced),
    ],
    marking: lost.length > 0 || reduced.length > 0 ? [ending] : [],
    lockOut: login.canLogin ? [...alter(role, ['NOLOGIN']), ending] : [],
    opening: [
      ...(name === moved ? [] : [rename(moved, name)]),
      ...alter(quoteIdentifier(name), wanted !== undefined && !login.canLogin ? ['LOGIN'] : []),
      ...granted.map((of) => grant(quoteIdentifier(name), of, version)),
    ],
  }
}

function alter(role: string, attributes: readonly string[]): string[] {
  return attributes.length === 0 ? [] : [`ALTER ROLE ${role} ${attributes.join(' ')}`]
}

export function grant(role: string, of: string, version: number): string {
  const options = version >= 160000 ? ' WITH INHERIT TRUE, SET TRUE, ADMIN FALSE' : ''
  return `GRANT ${quoteIdentifier(of)} TO ${role}${options}`
}

export function mark(
  role: string,
  { oid, mark: { databaseId, principalId } }: { readonly oid: number; readonly mark: Owner },
  { ending, left }: Pick<Mark, 'ending' | 'left'>,
  sign: Sign,
): string {
  const comment = writeMark({ databaseId, principalId, ending, left }, oid, sign)
  return `COMMENT ON ROLE ${role} IS ${quoteLiteral(comment)}`
}

function rename(from: string, to: string): string {
  return `ALTER ROLE ${quoteIdentifier(from)} RENAME TO ${quoteIdentifier(to)}`
}

/** Unforeseeable, so that no role can take the name first. */
function formerName({ oid }: ObservedLogin, sign: Sign): string {
  return `masquerade former login ${oid}/${sign(`former login ${oid}`).slice(0, 12)}`
}
