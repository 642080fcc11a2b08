import type { Relation, Snapshot } from './catalog.ts'
import { quoteGrantee } from './grants/grant-steps.ts'
import type { exemptions } from './grants/roles.ts'
import { copyReads, notManageable, ownerReads } from './notes.ts'
import type { Note, Unclosed } from './plan.ts'
import type { Masks } from './twins/assign-masks.ts'

/**
 * Tables, partitions and children that rules mask, and materialized views that were filled from masked columns.
 * `readers`: the roles that are to own twins.
 */
export function listUnclosed(
  ordered: readonly Relation[],
  masks: ReadonlyMap<number, Masks>,
  exempt: ReturnType<typeof exemptions>,
  snapshot: Snapshot,
  readers: ReadonlySet<string>,
): Unclosed[] {
  const { roles, user, copySources } = snapshot
  const isMasked = (name: string | null) =>
    !exempt.includes(name) &&
    (name === null || !(name === user || readers.has(name) || roles.get(name)?.superuser))
  const isCopy = (oid: number) => {
    const source = copySources.get(oid)
    return source?.isWhole || source?.columns.some((one) => masks.get(one.oid)?.has(one.number))
  }
  return ordered
    .filter(
      (one) => one.managed === 'not' && (one.definition === null ? masks.has(one.oid) : isCopy(one.oid)),
    )
    .map((relation) => ({
      relation,
      grantees: [
        ...new Set(
          [...relation.grants, ...relation.columns.flatMap(({ acl }) => acl)]
            .map(({ grantee }) => grantee)
            .filter((grantee) => grantee !== relation.owner && isMasked(grantee)),
        ),
      ],
      isOwnerMasked: isMasked(relation.owner),
    }))
}

/** `heir`: a role that the role of the binding may act for. */
export function describeUnmanaged(relation: Relation, unclosed: Unclosed | undefined, heir: string): Note {
  if (!unclosed || relation.definition === null) return notManageable(relation, heir)
  if (unclosed.grantees.length > 0) return copyReads(relation, unclosed.grantees.map(quoteGrantee), heir)
  return unclosed.isOwnerMasked ? ownerReads(relation, heir) : notManageable(relation, heir)
}
