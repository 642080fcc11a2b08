import type { Masks, Oid, Relation, Snapshot } from '../model.ts'

/** How a relation shows masked values, and what is hidden of it. */
export interface Shown {
  /** `itself`: its twin reads it. `definition`: its twin has its definition over twins. `none`: it needs no twin. */
  readonly by: 'itself' | 'definition' | 'none'
  /** Columns that contained roles may not read. */
  readonly hidden: ReadonlySet<number>
}

/**
 * Second pass: the relations that masks reach, in an order in which each reads only earlier ones. A view whose owner
 * can read a hidden column is closed as a whole, and so is a view over it. A view of a contained owner needs nothing:
 * PostgreSQL denies it.
 */
export function followViews(
  { relations, exempt, server }: Pick<Snapshot, 'relations' | 'exempt' | 'server'>,
  masks: ReadonlyMap<Oid, Masks>,
): ReadonlyMap<Oid, Shown> {
  const byOid = new Map(relations.map((one) => [one.oid, one]))
  const shown = new Map<Oid, Shown>()
  const seen = new Set<Oid>()
  /** The owners of what a relation shows masked, at any depth: once for each, as views read others by many ways. */
  const ownersBeneath = new Map<Oid, ReadonlySet<Oid>>()
  const findOwners = (relation: Relation): ReadonlySet<Oid> => {
    const sources = relation.reads.flatMap((oid) => (shown.has(oid) ? (byOid.get(oid) ?? []) : []))
    return new Set(sources.flatMap(({ oid, owner }) => [owner, ...(ownersBeneath.get(oid) ?? [])]))
  }
  const readsRaw = (view: Relation): boolean =>
    view.ownerReadsAll ||
    view.ownerRoles.some((role) => exempt.roles.has(role) || role === server.binding.oid) ||
    view.ownerRoles.some((role) => ownersBeneath.get(view.oid)?.has(role))
  const visit = (relation: Relation): void => {
    if (seen.has(relation.oid)) return
    seen.add(relation.oid)
    for (const oid of relation.reads) {
      const source = byOid.get(oid)
      if (source) visit(source)
    }
    ownersBeneath.set(relation.oid, findOwners(relation))
    const own = masks.get(relation.oid)
    const isOver = relation.reads.some((oid) => shown.has(oid))
    const isView = relation.kind === 'view' || relation.kind === 'materialized view'
    const all = new Set(relation.columns.map(({ number }) => number))
    if (own && !(isView && (isOver || relation.isSecurityInvoker)))
      shown.set(relation.oid, { by: 'itself', hidden: new Set(own.keys()) })
    else if (own && relation.kind === 'materialized view')
      // Its rows are copies, and the rules of its own say what is hidden of them.
      shown.set(relation.oid, { by: 'itself', hidden: new Set(own.keys()) })
    else if (isOver && relation.isSecurityInvoker)
      shown.set(relation.oid, { by: 'definition', hidden: new Set(own?.keys()) })
    else if (
      relation.kind === 'materialized view' &&
      isOver &&
      relation.acting === 'not' &&
      !relation.isPopulated
    )
      // It shows nothing until it is refreshed, and this service can do nothing about it.
      return
    else if (relation.kind === 'materialized view' && isOver)
      shown.set(relation.oid, { by: 'definition', hidden: all })
    else if (isOver && (readsRaw(relation) || own)) shown.set(relation.oid, { by: 'definition', hidden: all })
    else if (own) shown.set(relation.oid, { by: 'definition', hidden: new Set(own.keys()) })
  }
  for (const relation of relations) visit(relation)
  return shown
}
