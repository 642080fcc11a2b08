import type { Relation, Snapshot } from './catalog.ts'
import { withAncestors } from './grants/roles.ts'
import type { Masks } from './twins/assign-masks.ts'

/** Says what stays readable raw when everything that the role of the binding may manage is closed. */
export interface RawData {
  /** Of each view that shows masked columns with the rights of its owner: the relations that hold them. None: they come by a stray twin. */
  readonly views: ReadonlyMap<number, readonly Relation[]>
  /** True for a materialized view whose data was read from a masked column. One without data shows nothing. */
  isCopy(view: Relation): boolean
  /** True for a role that sees what these relations hold without a grant. */
  sees(role: string, relations: readonly Relation[]): boolean
}

/**
 * `ordered`: each after the relations that it reads. `barred`: stray twins that are closed to every role but superusers. `isMasked`:
 * false for exempt roles, superusers, the role of the binding and owners of twins.
 */
export function findRawViews(
  ordered: readonly Relation[],
  masks: ReadonlyMap<number, Masks>,
  { roles, viewSources }: Pick<Snapshot, 'roles' | 'viewSources'>,
  barred: ReadonlySet<number>,
  isMasked: (role: string) => boolean,
): RawData {
  const byOid = new Map(ordered.map((relation) => [relation.oid, relation]))
  const ancestors = new Map<string, ReadonlySet<string>>()
  const ancestorsOf = (role: string) => {
    const found = ancestors.get(role) ?? withAncestors(roles, role)
    ancestors.set(role, found)
    return found
  }
  // A member of a superuser has its grants, and not its being one.
  const seesAll = (role: string) =>
    !isMasked(role) ||
    [...ancestorsOf(role)].some(
      (name) => name === 'pg_read_all_data' || (!isMasked(name) && !roles.get(name)?.superuser),
    )
  const mayRead = (role: string, relation: Relation) =>
    seesAll(role) ||
    ancestorsOf(role).has(relation.owner) ||
    // Where the role of the binding may not manage it, grants stay as they are.
    (relation.managed === 'not' &&
      [...relation.grants, ...relation.columns.flatMap(({ acl }) => acl)].some(
        ({ grantee }) => grantee === null || ancestorsOf(role).has(grantee),
      ))
  const readsMasked = (view: Relation, { oid }: Relation) => {
    const [source, own] = [viewSources.get(view.oid), masks.get(oid)]
    if (!own || !source) return false
    return (
      source.isWhole ||
      source.rows.includes(oid) ||
      source.columns.some((one) => one.oid === oid && own.has(one.number))
    )
  }
  const isCopy = (copy: Relation) => {
    if (copy.kind !== 'materialized view' || !viewSources.get(copy.oid)?.isFilled) return false
    return listRead(copy, byOid).some((view) => {
      const source = viewSources.get(view.oid)
      if (!source) return false
      return (
        source.isWhole ||
        source.rows.some((oid) => byOid.has(oid)) ||
        source.columns.some((one) => masks.get(one.oid)?.has(one.number))
      )
    })
  }
  const views = new Map<number, readonly Relation[]>()
  for (const view of ordered) {
    if (view.kind !== 'view' || view.securityInvoker || !viewSources.has(view.oid)) continue
    // Under another view too, one with security_invoker reads as the role of the session.
    const open = view.reads.flatMap((oid) => byOid.get(oid) ?? []).filter((one) => mayRead(view.owner, one))
    const held = open.filter((one) => (one.definition === null ? readsMasked(view, one) : isCopy(one)))
    const below = open.flatMap(({ oid }) => views.get(oid) ?? [])
    const isRaw =
      held.length > 0 ||
      open.some(({ oid }) => views.has(oid)) ||
      (seesAll(view.owner) && view.reads.some((oid) => barred.has(oid)))
    if (isRaw) views.set(view.oid, [...new Set([...held, ...below])])
  }
  const sees = (role: string, relations: readonly Relation[]) =>
    seesAll(role) || (relations.length > 0 && relations.every(({ owner }) => ancestorsOf(role).has(owner)))
  return { views, isCopy, sees }
}

/** A view, and the views that it reads at any depth. */
function listRead(view: Relation, byOid: ReadonlyMap<number, Relation>): Relation[] {
  const found = new Set([view])
  for (const { reads } of found)
    for (const oid of reads) {
      const below = byOid.get(oid)
      if (below && below.definition !== null) found.add(below)
    }
  return [...found]
}
