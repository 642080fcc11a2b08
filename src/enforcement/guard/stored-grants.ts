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

function storeGrants<G extends Grant>(grants: readonly G[], roles: ReadonlyMap<string, Role>): Stored<G>[] {
  return grants.flatMap((grant) => {
    const grantee = grant.grantee === null ? 0 : roles.get(grant.grantee)?.oid
    return grantee === undefined ? [] : [{ ...grant, grantor: roles.get(grant.grantor)?.oid ?? 0, grantee }]
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

/** Drops grants to roles that no longer exist. A grantor that no longer exists becomes an empty name. */
export function recallGuard(stored: StoredGuard, names: ReadonlyMap<number, string>): Guard {
  const recall = <G extends Grant>(grants: readonly Stored<G>[]) =>
    grants
      .filter(({ grantee }) => grantee === 0 || names.has(grantee))
      .map(
        (grant) =>
          ({
            ...grant,
            grantor: names.get(grant.grantor) ?? '',
            grantee: grant.grantee === 0 ? null : names.get(grant.grantee),
          }) as unknown as G,
      )
  return {
    ...stored,
    grants: recall<Grant>(stored.grants),
    columnGrants: recall<ColumnGrant>(stored.columnGrants),
    rights: recall<Right>(stored.rights ?? []),
    lent: stored.lent.flatMap((oid) => names.get(oid) ?? []),
  }
}
