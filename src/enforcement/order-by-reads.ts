import { quoteQualified } from '../db/quote.ts'
import type { Relation, Snapshot, StrayTwin } from './catalog.ts'
import type { Policy } from './policy.ts'
import type { Masks } from './twins/assign-masks.ts'

interface Order {
  /** What is masked, and every view over it, each after the relations that it reads. */
  readonly ordered: readonly Relation[]
  /** Views in schemas of twins that read any of it and are the twin of none of it. */
  readonly strays: readonly StrayTwin[]
  /** Those of them, by oid, in whose place no twin is made: what reads them shows raw values to the roles that may read them. */
  readonly barred: ReadonlySet<number>
}

/** `nameTwin`: the name of the twin of a relation, quoted. `lasting`: strays, by oid, that the twin of that name does not replace. */
export function orderWithStrays(
  { relations, strays }: Pick<Snapshot, 'relations' | 'strays'>,
  { suspended }: Policy,
  masks: ReadonlyMap<number, Masks>,
  nameTwin: (relation: Relation) => string,
  lasting: ReadonlySet<number>,
): Order {
  let ordered = orderByReads(relations, masks, new Set())
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
    if (found.size > before) ordered = orderByReads(relations, masks, barred)
  }
  return { ordered, strays: [...found], barred }
}

/**
 * Relations with a mask and every view over them or over strays that are `barred`, each after the relations that it reads. Views
 * cannot read in a circle.
 */
function orderByReads(
  relations: readonly Relation[],
  masks: ReadonlyMap<number, Masks>,
  barred: ReadonlySet<number>,
): Relation[] {
  const affected = new Set([...masks.keys(), ...barred])
  const readers = Map.groupBy(
    relations.flatMap((view) => view.reads.map((oid) => ({ oid, view }))),
    ({ oid }) => oid,
  )
  for (const oid of affected)
    for (const { view } of readers.get(oid) ?? []) if (view.definition !== null) affected.add(view.oid)
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
  return [...ordered]
}
