import type { Masks, Oid, Relation, Snapshot } from '../model.ts'

/** How a relation shows masked values, and what is hidden of it. */
export interface Shown {
  readonly relation: Relation
  readonly masks: Masks
  /** `itself`: its twin reads it. `definition`: its twin has its definition over twins. */
  readonly by: 'itself' | 'definition'
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
  found: ReadonlyMap<Oid, Masks>,
): ReadonlyMap<Oid, Shown> {
  const shown = new Map<Oid, Shown>()
  const seen = new Set<Oid>()
  /** The owners of what a relation shows masked, at any depth: once for each, as views read others by many ways. */
  const ownersBeneath = new Map<Oid, ReadonlySet<Oid>>()
  const readsRaw = ({ oid, ownerReadsAll, ownerRoles }: Relation): boolean =>
    ownerReadsAll ||
    ownerRoles.some(
      (role) =>
        exempt.roles.has(role) || role === server.binding.oid || ownersBeneath.get(oid)?.has(role) === true,
    )
  const visit = (relation: Relation): void => {
    const { oid, reads, kind, isSecurityInvoker } = relation
    if (seen.has(oid)) return
    seen.add(oid)
    for (const each of reads) {
      const source = relations.get(each)
      if (source) visit(source)
    }
    const sources = reads.flatMap((each) => shown.get(each)?.relation ?? [])
    const owners = sources.flatMap((one) => [one.owner, ...(ownersBeneath.get(one.oid) ?? [])])
    ownersBeneath.set(oid, new Set(owners))
    const masks: Masks = found.get(oid) ?? new Map()
    const show = (by: Shown['by'], hidden: Iterable<number>) =>
      shown.set(oid, { relation, masks, by, hidden: new Set(hidden) })
    const isOver = sources.length > 0
    const isRuled = masks.size > 0
    const isCopy = kind === 'materialized view'
    // Rows of a materialized view are copies, and rules of its own say what is hidden of them.
    if (isRuled && (kind !== 'view' || !(isOver || isSecurityInvoker))) show('itself', masks.keys())
    else if (isSecurityInvoker && (isOver || isRuled)) show('definition', masks.keys())
    // An empty one shows nothing until it is refreshed, and this service can do nothing about it.
    else if (isCopy && relation.acting === 'not' && !relation.isPopulated) return
    else if (isOver && (isCopy || isRuled || readsRaw(relation)))
      show(
        'definition',
        relation.columns.map(({ number }) => number),
      )
  }
  for (const relation of relations.values()) visit(relation)
  return shown
}
