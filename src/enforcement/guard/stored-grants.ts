import type { ColumnGrant, Grant, Guard, Right, Role } from '../catalog.ts'

/** Roles are recorded by OID: a role can be renamed, and its old name can be given to another one. */
type Stored<G extends Grant> = Omit<G, 'grantor' | 'grantee'> & {
  readonly grantor: number
  /** 0: PUBLIC. */
  readonly grantee: number
}

export interface StoredGuard extends Omit<Guard, 'grants' | 'columnGrants' | 'rights' | 'lent'> {
  readonly grants: readonly Stored<Grant>[]
  readonly columnGrants: readonly Stored<ColumnGrant>[]
  /** Null: the record is of an earlier release. */
  readonly rights: readonly Stored<Right>[] | null
  readonly lent: readonly number[]
}

/** The grantor of a grant that a role passed on which was dropped since. It is the name of no role, and stands for none in a statement. */
export const droppedGrantor = '\0'
/** The same in a record. Zero is a former owner, also in records of earlier releases. */
const droppedOid = -1

function storeGrants<G extends Grant>(grants: readonly G[], roles: ReadonlyMap<string, Role>): Stored<G>[] {
  return grants.flatMap((grant) => {
    const grantee = grant.grantee === null ? 0 : roles.get(grant.grantee)?.oid
    const grantor = grant.grantor === droppedGrantor ? droppedOid : (roles.get(grant.grantor)?.oid ?? 0)
    return grantee === undefined ? [] : [{ ...grant, grantor, grantee }]
  })
}

export function storeGuard(guard: Guard, roles: ReadonlyMap<string, Role>): StoredGuard {
  return {
    ...guard,
    grants: storeGrants(guard.grants, roles),
    columnGrants: storeGrants(guard.columnGrants, roles),
    rights: storeGrants(guard.rights, roles),
    lent: guard.lent.flatMap((name) => roles.get(name)?.oid ?? []),
  }
}

/**
 * Drops grants to roles that no longer exist. A grantor that no longer exists becomes an empty name, as of a former owner, unless
 * the record says that it had a grant option: then what it granted ended with it.
 */
export function recallGuard(stored: StoredGuard, names: ReadonlyMap<number, string>): Guard {
  const recall = <G extends Grant>(
    grants: readonly Stored<G>[],
    listAble: (grant: Stored<G>) => ReadonlySet<number>,
  ) =>
    grants
      .filter(({ grantee }) => grantee === 0 || names.has(grantee))
      .map(
        (grant) =>
          ({
            ...grant,
            grantor: names.get(grant.grantor) ?? (listAble(grant).has(grant.grantor) ? droppedGrantor : ''),
            grantee: grant.grantee === 0 ? null : names.get(grant.grantee),
          }) as unknown as G,
      )
  const ofSelect = findAble([...stored.grants, ...stored.columnGrants])
  const ofRights = new Map(
    [...Map.groupBy(stored.rights ?? [], ({ privilege }) => privilege)].map(([privilege, rights]) => [
      privilege,
      findAble(rights),
    ]),
  )
  return {
    ...stored,
    grants: recall<Grant>(stored.grants, () => ofSelect),
    columnGrants: recall<ColumnGrant>(stored.columnGrants, () => ofSelect),
    rights: recall<Right>(stored.rights ?? [], ({ privilege }) => ofRights.get(privilege) ?? ofSelect),
    lent: stored.lent.flatMap((oid) => names.get(oid) ?? []),
  }
}

/** Grantors, by OID, that had the grant option of a privilege by these grants of it. */
function findAble(grants: readonly Stored<Grant>[]): ReadonlySet<number> {
  return new Set(grants.filter(({ grantable }) => grantable).map(({ grantee }) => grantee)).add(droppedOid)
}
