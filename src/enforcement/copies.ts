import type { Pin, Relation, Snapshot } from './catalog.ts'
import type { Policy, Rule } from './policy.ts'
import { type Masks, placeOfRule } from './twins/assign-masks.ts'

/**
 * Materialized views that were closed because of columns that are still masked, by oid, with the pins that say so. Their rows stay what
 * they are when a view below reads something else: the owner of that view, who may be masked, would open them. Only one that a turn
 * found without rows holds none from before. Other signs of a REFRESH, such as another file, are those of VACUUM FULL too.
 */
export function listCopied(
  { guards, relations, isWhole }: Pick<Snapshot, 'guards' | 'relations' | 'isWhole'>,
  { rules }: Pick<Policy, 'rules'>,
  masks: ReadonlyMap<number, Masks>,
): ReadonlyMap<number, readonly Pin[]> {
  const inView = new Map(relations.map((relation) => [relation.oid, relation]))
  const present = new Set(rules.map(placeOfRule))
  const renew = (pin: Pin): Pin[] => {
    const { source } = pin
    if (!source) return []
    const relation = inView.get(source.oid)
    if (!relation && !isWhole) return [pin]
    // Without the column no mask can be found by it: the rule that it had is all that is left.
    if (!relation?.columns.some(({ number }) => number === source.number))
      return present.has(placeOfRule(pin)) ? [pin] : []
    const rule = masks.get(source.oid)?.get(source.number)
    return rule ? [pinOf(rule, source)] : []
  }
  return new Map(
    guards
      .filter(({ oid }) => {
        const relation = inView.get(oid)
        return relation?.kind === 'materialized view' && relation.isPopulated
      })
      .map(({ oid, pins }): [number, Pin[]] => [oid, pins.flatMap(renew)])
      .filter(([, pins]) => pins.length > 0),
  )
}

/**
 * Tells of a relation its pins of number 0: for each masked column that it reads, through other views too, and for each that other
 * materialized views on the way, or it itself, hold rows of.
 */
export function createCopyPins(
  { relations, unreadViews, strays }: Pick<Snapshot, 'relations' | 'unreadViews' | 'strays'>,
  masks: ReadonlyMap<number, Masks>,
  copied: ReadonlyMap<number, readonly Pin[]>,
): (relation: Relation) => Pin[] {
  const readsOf = new Map([...relations, ...unreadViews, ...strays].map((one) => [one.oid, one.reads]))
  return ({ oid: own, kind, reads }) => {
    if (kind !== 'materialized view') return []
    const reached = new Set(reads)
    for (const oid of reached) for (const next of readsOf.get(oid) ?? []) reached.add(next)
    const pins = [...reached].flatMap((oid) => [
      ...(copied.get(oid) ?? []),
      ...[...(masks.get(oid) ?? [])].map(([number, rule]) => pinOf(rule, { oid, number })),
    ])
    const found = new Map(pins.map((pin) => [placeOf(pin), pin]))
    for (const pin of copied.get(own) ?? [])
      if (!found.has(placeOf(pin))) found.set(placeOf(pin), { ...pin, isCut: true })
    // In an order that does not depend on the catalog.
    return [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, pin]) => pin)
  }
}

const placeOf = ({ source }: Pin) => `${source?.oid} ${source?.number}`

function pinOf({ name, schema, table, column }: Rule, source: Pin['source']): Pin {
  return { rule: name, schema, table, column, number: 0, ...(source && { source }) }
}
