import { quoteQualified } from '../db/quote.ts'
import type { Relation, Snapshot, StrayTwin } from './catalog.ts'
import type { Policy } from './policy.ts'
import type { Masks } from './twins/assign-masks.ts'
import type { UnreadView } from './view-facts.ts'

interface Order {
  /** What is masked, and every view over it, each after the relations that it reads. */
  readonly ordered: readonly Relation[]
  /** Views in schemas of twins that read any of it and are the twin of none of it. */
  readonly strays: readonly StrayTwin[]
  /** Those of them, by oid, in whose place no twin is made: what reads them shows raw values to the roles that may read them. */
  readonly barred: ReadonlySet<number>
  /** Those of what is ordered, by oid, that may show raw values of what they read through a view of which nothing is known. */
  readonly unsure: ReadonlySet<number>
}

/**
 * `nameTwin`: the name of the twin of a relation, quoted. `lasting`: strays, by oid, that the twin of that name does not replace.
 * `copies`: materialized views, by oid, that hold rows of something masked, whatever they would read now.
 */
export function orderWithStrays(
  snapshot: Pick<Snapshot, 'relations' | 'strays' | 'unreadViews'>,
  { suspended }: Policy,
  masks: ReadonlyMap<number, Masks>,
  nameTwin: (relation: Relation) => string,
  lasting: ReadonlySet<number>,
  copies: readonly number[],
): Order {
  const { strays } = snapshot
  const orderOver = (raw: ReadonlySet<number>) => orderByReads(snapshot, [...masks.keys(), ...copies, ...raw])
  let { ordered, unsure } = orderOver(new Set())
  const isSuspended = ({ schema, name }: Relation) =>
    suspended.some((target) => target.schema === schema && target.table === name)
  const wanted = new Set(
    ordered.filter((one) => one.managed !== 'not' && !isSuspended(one)).map((one) => nameTwin(one)),
  )
  const isReplaced = ({ oid, schema, name }: StrayTwin) =>
    !lasting.has(oid) && wanted.has(quoteQualified(schema, name))
  const found = new Set<StrayTwin>()
  const barred = new Set<number>()
  for (let before = -1; found.size > before; ) {
    before = found.size
    const affected = new Set([...ordered.map(({ oid }) => oid), ...barred])
    for (const stray of strays) {
      const isTwin = stray.recordedFor !== null && affected.has(stray.recordedFor)
      if (isTwin || !stray.reads.some((oid) => affected.has(oid))) continue
      found.add(stray)
      if (!isReplaced(stray)) barred.add(stray.oid)
    }
    if (found.size > before) ({ ordered, unsure } = orderOver(barred))
  }
  return { ordered, strays: [...found], barred, unsure }
}

/**
 * The relations of `raw`, by oid, and every view over them, each after the relations that it reads. Views cannot read in a circle.
 * A view of which nothing was read shows no raw values itself, as its owner sees none; but rows that were read through it may be. A
 * materialized view of which nothing was read may hold raw values, and what reads it shows them.
 */
function orderByReads(
  { relations, unreadViews }: Pick<Snapshot, 'relations' | 'unreadViews'>,
  raw: readonly number[],
): Pick<Order, 'ordered' | 'unsure'> {
  const affected = new Set(raw)
  const unsure = new Set<number>()
  const unread = new Map(unreadViews.map((view) => [view.oid, view]))
  const readers = Map.groupBy(
    [...relations, ...unreadViews].flatMap((view) => view.reads.map((oid) => ({ oid, view }))),
    ({ oid }) => oid,
  )
  const isView = (one: Relation | UnreadView): one is Relation =>
    'definition' in one && one.definition !== null
  for (const oid of affected) {
    const between = unread.get(oid)
    for (const { view } of readers.get(oid) ?? [])
      if (unread.has(view.oid)) affected.add(view.oid)
      else if (isView(view) && (!between || between.isPassing || view.kind === 'materialized view')) {
        affected.add(view.oid)
        if (between) unsure.add(view.oid)
      }
  }
  const byOid = new Map(relations.map((relation) => [relation.oid, relation]))
  const ordered = new Set<Relation>()
  const place = (relation: Relation) => {
    if (ordered.has(relation) || !affected.has(relation.oid)) return
    if (relation.definition !== null)
      for (const oid of relation.reads) {
        const read = byOid.get(oid)
        if (read) place(read)
      }
    ordered.add(relation)
  }
  for (const relation of relations) place(relation)
  return { ordered: [...ordered], unsure }
}
