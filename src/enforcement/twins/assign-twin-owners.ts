import type { Relation, Role, Snapshot } from '../catalog.ts'
import { isTwinOwnerName, readServed } from '../names.ts'
import {
  chooseTwinOwner,
  indexNames,
  isHeld,
  type TwinOwner,
  type TwinOwnerFacts,
} from './choose-twin-owner.ts'

/** The owners of twins of a database, by the owner of the relations that they read. */
export interface TwinOwners {
  /** Null: the role of the binding can have none for it. */
  of(relation: Pick<Relation, 'owner'>): TwinOwner | null
}

interface Facts extends TwinOwnerFacts, Pick<Snapshot, 'twinRoles' | 'guardedOwners'> {
  /** At least the owners in question. */
  readonly roles: ReadonlyMap<string, Pick<Role, 'oid' | 'superuser'>>
}

/**
 * PostgreSQL runs the conditions of row policies of a table with the rights of the twin's owner, and the owner of the table
 * writes them. So an owner of twins reads tables of one owner alone. Superusers and the role of the binding, which read
 * every table that it masks, share one. Where the binding can create no roles, the shared one serves either these or one other
 * owner. `read`: the relations in view that owners of twins are to read. `held`: the roles that the binding can act for.
 */
export function assignTwinOwners(
  facts: Facts,
  read: readonly Pick<Relation, 'owner'>[],
  held: ReadonlySet<string>,
): TwinOwners {
  const { roles, user, twinRoles } = facts
  const taken = indexNames(twinRoles)
  const shared = chooseTwinOwner(facts, taken)
  const isTrusted = (owner: string) => owner === user || roles.get(owner)?.superuser === true
  const findOwn = (owner: string) => chooseTwinOwner(facts, taken, roles.get(owner)?.oid ?? 0)
  const isSame = (one: string, other: string) => one === other || (isTrusted(one) && isTrusted(other))
  const canCreate = facts.superuser || facts.createsRoles
  const sharing = canCreate ? user : chooseSharing()
  const choose = (owner: string): TwinOwner | null => {
    const mayShare = sharing !== undefined && isSame(owner, sharing)
    if (isTrusted(owner) && mayShare) return shared
    const own = findOwn(owner)
    if (own.isUsable) return own
    return mayShare ? shared : null
  }
  const known = new Map<string, TwinOwner | null>()
  return {
    of({ owner }) {
      if (!known.has(owner)) known.set(owner, choose(owner))
      return known.get(owner) ?? null
    },
  }

  /**
   * The owner that the one prepared role serves. One that it serves already stays, so that no turn, whatever it looks at, adds
   * another. Only what the controller made tells that: any role can grant the prepared one SELECT on a table. Of several:
   * one that the binding can act for, without a role of its own, with the most tables, with the lowest OID.
   */
  function chooseSharing(): string | undefined {
    const recorded = facts.guardedOwners.filter(({ isRead }) => isRead)
    const served = recorded.filter(({ twinOwners }) => twinOwners.includes(shared.name))
    // Twins without a record stay while objects of others read them.
    const kept = (taken.get(shared.name)?.reads ?? []).map((owner) => ({ owner }))
    const candidates: readonly { readonly owner: string; readonly relations?: number }[] =
      [served, kept, recorded].find(({ length }) => length > 0) ?? read
    const count = (owner: string) =>
      candidates.reduce((sum, one) => sum + (isSame(one.owner, owner) ? (one.relations ?? 1) : 0), 0)
    const ranked = [...new Set(candidates.map(({ owner }) => owner))].map((owner) => ({
      owner,
      rank: [
        Number(!held.has(owner)),
        Number(findOwn(owner).isUsable),
        -count(owner),
        roles.get(owner)?.oid ?? 0,
      ] as const,
    }))
    const [best] = ranked.sort(
      ({ rank: a }, { rank: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3],
    )
    return best?.owner
  }
}

/** Roles that read for the twins of this database, without those that could log in: they are not ours yet. */
export function isTwinOwner(
  { twinOwner, database, roles }: Pick<Snapshot, 'twinOwner' | 'database' | 'roles'>,
  name: string | null,
): boolean {
  if (name === null || !isTwinOwnerName(name)) return false
  return (
    name === twinOwner || (readServed(database, name) !== undefined && roles.get(name)?.excess.length === 0)
  )
}

/** The roles of this database that serve one owner each, with the OID of that owner. */
export function listServing(facts: Omit<Facts, 'roles' | 'guardedOwners'>) {
  return facts.twinRoles.flatMap((role) => {
    // Reading a name takes hashes: any role can make thousands of these, and grant them to none of ours.
    if (!isHeld(facts, role)) return []
    const { oid, name } = role
    const served = readServed(facts.database, name)
    return served === undefined ? [] : [{ oid, name, served }]
  })
}

/** Without those of which another one takes the place. */
export function listChosen(facts: Omit<Facts, 'roles' | 'guardedOwners'>) {
  const taken = indexNames(facts.twinRoles)
  return listServing(facts).filter(({ name, served }) => name === chooseTwinOwner(facts, taken, served).name)
}
