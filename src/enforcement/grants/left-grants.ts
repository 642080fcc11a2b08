import type { ColumnGrant, Grant, Relation, Remembered, Right, Snapshot } from '../catalog.ts'
import type { StoredGuard } from '../guard/stored-grants.ts'
import { everybody } from '../names.ts'
import type { exemptions } from './roles.ts'

/** Says of a grantee whether the list of exempt roles in the database has it; undefined: there is no list. */
export type WasExempt = (grantee: string | null) => boolean | undefined

/** By OID, as far as the list has OIDs: a role that was renamed since is still the same. */
export function recallExempt({ guard, exempt, exemptOids, roles }: Snapshot): WasExempt {
  if (!guard.isThere) return () => undefined
  if (exempt.includes(everybody)) return () => true
  const oids = exemptOids && new Set(exemptOids)
  const names = new Set(exempt)
  return (grantee) => grantee !== null && (oids ? oids.has(roles.get(grantee)?.oid ?? 0) : names.has(grantee))
}

/**
 * True when the last turn that changed the relation left a grant of an exempt role there as it was. The list of exempt roles alone does not
 * tell: it is written for the whole database, and a turn may have changed other relations alone. The record alone tells it only to nodes of
 * this release: those of the last one leave `left` as it is.
 */
export function hasStood({ grantee, left }: Grant, wasExempt: WasExempt): boolean {
  return left === undefined ? (wasExempt(grantee) ?? false) : left === true && (wasExempt(grantee) ?? true)
}

/** The grants with what a turn leaves of them at the relation, for its record. */
export function markLeft(
  { grants, columnGrants, rights }: Remembered,
  { columns }: Relation,
  hidden: ReadonlySet<number>,
  exempt: ReturnType<typeof exemptions>,
): Remembered {
  const last = Math.max(0, ...columns.map(({ number }) => number))
  const isKept = ({ grantee }: Grant) => exempt.includes(grantee)
  return {
    grants: grants.map((grant): Grant => ({ ...grant, left: isKept(grant) || last })),
    columnGrants: columnGrants.map(
      (grant): ColumnGrant => ({ ...grant, left: isKept(grant) || !hidden.has(grant.column) }),
    ),
    rights: rights.map((right): Right => ({ ...right, left: isKept(right) })),
  }
}

/** A record that is true before a change of the relation and after it. */
export function withoutLeft(record: StoredGuard): StoredGuard {
  const strip = <G extends { readonly left?: unknown }>(grants: readonly G[]) =>
    grants.map(({ left: _, ...grant }) => grant as G)
  return {
    ...record,
    grants: strip(record.grants),
    columnGrants: strip(record.columnGrants),
    rights: record.rights && strip(record.rights),
  }
}
