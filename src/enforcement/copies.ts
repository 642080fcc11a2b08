import type { Pin, Relation, Snapshot } from './catalog.ts'
import type { Policy } from './policy.ts'
import { keyOf, type Masks } from './twins/assign-masks.ts'

/**
 * Materialized views that were closed because of rules that are still there, by oid, with the pins that say so. Their rows stay what
 * they are when a view below reads something else: the owner of that view, who may be masked, would open them. Only one that a turn
 * found without rows holds none from before. Other signs of a REFRESH, such as another file, are those of VACUUM FULL too.
 */
export function listCopied(
  { guards, relations }: Pick<Snapshot, 'guards' | 'relations'>,
  { rules }: Pick<Policy, 'rules'>,
): ReadonlyMap<number, readonly Pin[]> {
  const filled = new Set(
    relations
      .filter(({ kind, isPopulated }) => kind === 'materialized view' && isPopulated)
      .map(({ oid }) => oid),
  )
  const present = new Set(rules.map((rule) => keyOf(rule.name, rule)))
  return new Map(
    guards
      .filter(({ oid }) => filled.has(oid))
      .map(({ oid, pins }): [number, Pin[]] => [
        oid,
        pins.filter((pin) => pin.number === 0 && present.has(keyOf(pin.rule, pin))),
      ])
      .filter(([, pins]) => pins.length > 0),
  )
}

/** Tells of a view the rules of everything that it reads, through other views too, as pins of number 0. */
export function followReads(
  { relations, unreadViews }: Pick<Snapshot, 'relations' | 'unreadViews'>,
  masks: ReadonlyMap<number, Masks>,
): (view: Relation) => Pin[] {
  const readsOf = new Map([...relations, ...unreadViews].map((one) => [one.oid, one.reads]))
  return ({ reads }) => {
    const reached = new Set(reads)
    for (const oid of reached) for (const next of readsOf.get(oid) ?? []) reached.add(next)
    return [...reached].flatMap((oid) =>
      [...(masks.get(oid)?.values() ?? [])].map(
        ({ name, schema, table, column }): Pin => ({ rule: name, schema, table, column, number: 0 }),
      ),
    )
  }
}

/** Each once, in an order that does not depend on the catalog. */
export function sortPins(pins: readonly Pin[]): Pin[] {
  const byKey = new Map(pins.map((pin) => [keyOf(pin.rule, pin), pin]))
  return [...byKey].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, pin]) => pin)
}
