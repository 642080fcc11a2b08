import type { Relation, Snapshot } from './catalog.ts'
import { findRawViews } from './find-raw-views.ts'
import { quoteGrantee } from './grants/grant-steps.ts'
import type { exemptions } from './grants/roles.ts'
import { copyReads, notManageable, ownerReads, viewReads } from './notes.ts'
import type { Note, Unclosed } from './plan.ts'
import type { Masks } from './twins/assign-masks.ts'

/**
 * Tables, partitions and children that rules mask, materialized views that were filled from masked columns, and views that show these
 * with the rights of their owners. `readers`: the roles that are to own twins. `barred`: stray twins that stay.
 */
export function listUnclosed(
  ordered: readonly Relation[],
  masks: ReadonlyMap<number, Masks>,
  exempt: ReturnType<typeof exemptions>,
  snapshot: Snapshot,
  readers: ReadonlySet<string>,
  barred: ReadonlySet<number>,
): Unclosed[] {
  const { roles, user } = snapshot
  const isMasked = (name: string | null) =>
    !exempt.includes(name) &&
    (name === null || !(name === user || readers.has(name) || roles.get(name)?.superuser))
  const raw = findRawViews(ordered, masks, snapshot, barred, isMasked)
  const isOpen = (one: Relation) =>
    one.definition === null ? masks.has(one.oid) : raw.views.has(one.oid) || raw.isCopy(one)
  return ordered
    .filter((one) => one.managed === 'not' && isOpen(one))
    .map((relation) => {
      const sources = raw.views.get(relation.oid) ?? []
      const isReader = (grantee: string | null) =>
        grantee !== relation.owner &&
        isMasked(grantee) &&
        (relation.kind !== 'view' || grantee === null || !raw.sees(grantee, sources))
      return {
        relation,
        grantees: [
          ...new Set(
            [...relation.grants, ...relation.columns.flatMap(({ acl }) => acl)]
              .map(({ grantee }) => grantee)
              .filter(isReader),
          ),
        ],
        isOwnerMasked: isMasked(relation.owner),
        sources,
      }
    })
}

/** `heir`: a role that the role of the binding may act for. */
export function describeUnmanaged(
  relation: Relation,
  unclosed: Unclosed | undefined,
  heir: string,
  { roles, user }: Pick<Snapshot, 'roles' | 'user'>,
): Note {
  const isOfSuperuser = roles.get(relation.owner)?.superuser ?? false
  // The owner of another table is to see no more than before.
  if (relation.definition === null) return notManageable(relation, isOfSuperuser ? user : heir, isOfSuperuser)
  const next = unclosed?.sources.find(({ managed }) => managed !== 'not')?.owner ?? heir
  if (unclosed && unclosed.grantees.length > 0) {
    const grantees = unclosed.grantees.map(quoteGrantee)
    return relation.kind === 'view'
      ? viewReads(relation, grantees, next)
      : copyReads(relation, grantees, next)
  }
  return unclosed?.isOwnerMasked && relation.kind !== 'view'
    ? ownerReads(relation, next)
    : notManageable(relation, next, isOfSuperuser)
}
