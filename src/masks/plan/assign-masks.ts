import type { Note } from '../../contracts/note.ts'
import type { Column, MaskOf, Masks, Oid, Pin, Relation, Snapshot } from '../model.ts'
import type { Rule } from '../policy.ts'
import { doesNotFit, missing, renamed } from './describe.ts'
import { fits } from './expressions.ts'

type Found = Map<Oid, Map<number, MaskOf>>

/**
 * First pass: which columns each rule masks. The column that it names; the one that it named when it was last
 * applied, whatever its name is now; generated columns over these; the same columns of parents, partitions and
 * children. A function that does not fit the type masks with `Default`.
 */
export function assignMasks(
  snapshot: Pick<Snapshot, 'relations' | 'records' | 'isWhole'>,
  rules: readonly Rule[],
): { masks: ReadonlyMap<Oid, Masks>; notes: Note[] } {
  const found: Found = new Map()
  const notes: Note[] = []
  const { relations, records, isWhole } = snapshot
  const byName = new Map([...relations.values()].map((one) => [`${one.schema}\0${one.name}`, one]))
  const pinned = Map.groupBy(
    [...records.values()].flatMap(({ oid, pins }) =>
      pins.filter(({ computed }) => !computed).map((pin) => ({ oid, pin })),
    ),
    ({ pin }) => placeOf(pin),
  )
  const named = rules.map((rule) => {
    const relation = byName.get(`${rule.schema}\0${rule.table}`)
    const column = relation?.columns.find(({ name }) => name === rule.column)
    if (relation && column) setMask(found, relation, column, rule)
    if (column && !fits(column, rule)) notes.push(doesNotFit(rule, column))
    return { rule, relation, column }
  })
  for (const { rule, relation, column } of named) {
    const held = (pinned.get(placeOf(rule)) ?? []).flatMap(({ oid, pin }) => {
      const place = relations.get(oid)
      const at = place?.columns.find(({ number }) => number === pin.number)
      // A column that another rule names by now is that rule's.
      return place && at && (at === column || !found.get(oid)?.has(pin.number)) ? [{ place, at }] : []
    })
    for (const { place, at } of held) {
      setMask(found, place, at, rule)
      if (at.name !== rule.column) notes.push(renamed(rule, place, at))
    }
    const isElsewhere = !isWhole && !relation
    if (!column && held.length === 0 && !isElsewhere) notes.push(missing(rule))
  }
  derive(relations, found)
  return { masks: found, notes }
}

function setMask(found: Found, relation: Relation, column: Column, mask: MaskOf): boolean {
  const own = found.get(relation.oid) ?? new Map<number, MaskOf>()
  if (mask.isDerived && own.has(column.number)) return false
  found.set(
    relation.oid,
    own.set(column.number, fits(column, mask) ? mask : { ...mask, maskingFunction: 'Default' }),
  )
  return true
}

const computed = { maskingFunction: 'Default', isDerived: true, isComputed: true } as const

/** Until nothing changes: a child may compute a column otherwise than its parent, which shows it. */
function derive(relations: Snapshot['relations'], found: Found): void {
  const kin = Map.groupBy(
    [...relations.values()].flatMap((child) =>
      child.parents.flatMap((parent) => [
        { oid: child.oid, other: parent },
        { oid: parent, other: child.oid },
      ]),
    ),
    ({ oid }) => oid,
  )
  const queue = [...found.keys()]
  for (let oid = queue.shift(); oid !== undefined; oid = queue.shift()) {
    const relation = relations.get(oid)
    const own = found.get(oid)
    if (!relation || !own) continue
    for (const column of relation.columns) {
      const source = column.computedFrom.map((each) => own.get(each)).find((mask) => mask !== undefined)
      if (source && setMask(found, relation, column, { ...source, ...computed })) queue.push(oid)
    }
    for (const { other } of kin.get(oid) ?? []) {
      const target = relations.get(other)
      for (const [number, mask] of own) {
        const name = relation.columns.find((column) => column.number === number)?.name
        const column = target?.columns.find((each) => each.name === name)
        if (target && column && setMask(found, target, column, { ...mask, isDerived: true }))
          queue.push(other)
      }
    }
  }
}

export const pinsOf = (masks: Masks): Pin[] =>
  [...masks]
    .map(([number, { schema, table, column, isComputed }]) => ({
      ...{ schema, table, column, number },
      ...(isComputed && { computed: isComputed }),
    }))
    .sort((one, other) => one.number - other.number)

/** What a rule is known by: a column has one rule. */
const placeOf = ({ schema, table, column }: Pick<Rule, 'schema' | 'table' | 'column'>) =>
  `${schema}\0${table}\0${column}`
