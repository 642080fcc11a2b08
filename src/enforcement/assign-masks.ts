import type { Column, Pin, Relation, Snapshot } from './catalog.ts'
import { fits } from './masks.ts'
import type { Policy, Rule } from './policy.ts'

/** Rules by attribute number. */
export type Masks = Map<number, Rule>

export interface Note {
  readonly code: 'ColumnMissing' | 'ColumnRenamed' | 'FunctionDoesNotFit' | 'NoTwin'
  readonly target: string
  readonly message: string
}

/**
 * Which columns each rule masks: the one it names; the one it named when it was last applied, wherever that is now; and
 * the same column of every partition and child. A rule whose function does not fit masks with `Default`: never nothing.
 */
export function assignMasks(
  snapshot: Snapshot,
  policy: Policy,
): { masks: Map<number, Masks>; notes: Note[] } {
  const masks = new Map<number, Masks>()
  const notes: Note[] = []
  const children = Map.groupBy(
    snapshot.relations.flatMap((child) => child.parents.map((parent) => ({ parent, child }))),
    ({ parent }) => parent,
  )
  const byName = new Map(
    snapshot.relations.map((relation) => [nameOf(relation.schema, relation.name), relation]),
  )
  const byOid = new Map(snapshot.relations.map((relation) => [relation.oid, relation]))
  const pinned = Map.groupBy(
    snapshot.guards.flatMap(({ oid, pins }) => pins.map((pin) => ({ oid, pin }))),
    ({ pin }) => keyOf(pin),
  )

  const mask = (relation: Relation, column: Column, rule: Rule) => {
    if (relation.definition !== null) return
    const own = masks.get(relation.oid) ?? new Map<number, Rule>()
    masks.set(
      relation.oid,
      own.set(column.number, fits(column, rule.maskingFunction) ? rule : asDefault(rule)),
    )
    for (const { child } of children.get(relation.oid) ?? []) {
      const inherited = child.columns.find(({ name }) => name === column.name)
      if (inherited) mask(child, inherited, rule)
    }
  }

  for (const rule of policy.rules) {
    const target = `${rule.schema}.${rule.table}.${rule.column}`
    const relation = byName.get(nameOf(rule.schema, rule.table))
    const named = relation?.columns.find(({ name }) => name === rule.column)
    if (relation && named) {
      mask(relation, named, rule)
      if (!fits(named, rule.maskingFunction)) notes.push(doesNotFit(rule, target, named))
    }
    const held = (pinned.get(keyOf({ rule: rule.name, ...rule })) ?? []).flatMap(({ oid, pin }) => {
      const place = byOid.get(oid)
      const column = place?.columns.find(({ number }) => number === pin.number)
      return place && column ? [{ place, column }] : []
    })
    for (const { place, column } of held) {
      mask(place, column, rule)
      if (column.name !== rule.column) notes.push(renamed(target, place, column))
    }
    if (!named && held.length === 0) notes.push(missing(rule, target))
  }
  return { masks, notes }
}

export function pinsOf(masks: Masks): Pin[] {
  return [...masks]
    .map(([number, { name, schema, table, column }]) => ({ rule: name, schema, table, column, number }))
    .sort((a, b) => a.number - b.number)
}

const nameOf = (schema: string, name: string) => JSON.stringify([schema, name])
const keyOf = (pin: Omit<Pin, 'number'>) => JSON.stringify([pin.rule, pin.schema, pin.table, pin.column])

function asDefault(rule: Rule): Rule {
  return { ...rule, maskingFunction: 'Default' }
}

function doesNotFit(rule: Rule, target: string, column: Column): Note {
  const message = `The function ${rule.maskingFunction} does not fit ${target} of type ${column.type}; it is masked with Default.`
  return { code: 'FunctionDoesNotFit', target, message }
}

function renamed(target: string, place: Relation, column: Column): Note {
  const message = `The column ${target} is now ${place.schema}.${place.name}.${column.name} and stays masked. Update the rule to its new name.`
  return { code: 'ColumnRenamed', target, message }
}

function missing(rule: Rule, target: string): Note {
  return {
    code: 'ColumnMissing',
    target,
    message: `The rule '${rule.name}' names ${target}, which does not exist.`,
  }
}
