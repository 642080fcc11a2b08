import type { Column, Pin, Relation, Snapshot } from '../catalog.ts'
import type { Note } from '../plan.ts'
import type { Policy, Rule } from '../policy.ts'
import { fits } from './masks.ts'

/** Rules by attribute number. */
export type Masks = Map<number, AssignedRule>

/** Computed: a generated column has it because of the column that it is computed from, here or in a part of the table. */
export type AssignedRule = Rule & { readonly isComputed?: true }

/**
 * The columns that each rule masks: the one it names; the one it named when it was last applied, wherever that is now; and
 * the same column of every partition and child. A rule whose function does not fit masks with `Default`: never nothing.
 */
export function assignMasks(
  snapshot: Snapshot,
  policy: Pick<Policy, 'rules'>,
): { masks: Map<number, Masks>; notes: Note[] } {
  const masks = new Map<number, Masks>()
  const notes: Note[] = []
  const byName = new Map(
    snapshot.relations.map((relation) => [nameOf(relation.schema, relation.name), relation]),
  )
  const byOid = new Map(snapshot.relations.map((relation) => [relation.oid, relation]))
  const pinned = Map.groupBy(
    snapshot.guards.flatMap(({ oid, pins }) =>
      pins.filter(({ computed }) => !computed).map((pin) => ({ oid, pin })),
    ),
    ({ pin }) => placeOfRule(pin),
  )

  const mask = (relation: Relation, column: Column, rule: AssignedRule, isOwn: boolean) => {
    const own: Masks = masks.get(relation.oid) ?? new Map()
    if (!isOwn && own.has(column.number)) return
    masks.set(relation.oid, own.set(column.number, fits(column, rule) ? rule : asDefault(rule)))
  }
  const rules = policy.rules.map((rule) => {
    const target = `${rule.schema}.${rule.table}.${rule.column}`
    const relation = byName.get(nameOf(rule.schema, rule.table))
    const named = relation?.columns.find(({ name }) => name === rule.column)
    if (relation && named) {
      mask(relation, named, rule, true)
      if (!fits(named, rule)) notes.push(doesNotFit(rule, target, named))
    }
    return { rule, target, relation, named }
  })
  for (const { rule, target, relation, named } of rules) {
    const held = (pinned.get(placeOfRule(rule)) ?? []).flatMap(({ oid, pin }) => {
      const place = byOid.get(oid)
      const column = place?.columns.find(({ number }) => number === pin.number)
      // One that another rule names by now is that rule's.
      return place && column && (column === named || !masks.get(oid)?.has(pin.number))
        ? [{ place, column }]
        : []
    })
    for (const { place, column } of held) {
      if (column !== named) mask(place, column, rule, true)
      if (column.name !== rule.column) notes.push(renamed(target, place, column))
    }
    // A materialized view brings a rule in view whose table is not, where some tables are looked at.
    const isElsewhere = !snapshot.isWhole && !relation && pinned.has(placeOfRule(rule))
    if (!named && held.length === 0 && !isElsewhere) notes.push(missing(rule, target))
  }
  // A partition or child may compute a column otherwise than its parent does, which shows it. Ends: a round adds masks.
  for (let changed = [...masks.keys()]; changed.length > 0; ) {
    spread(snapshot.relations, changed, masks, mask)
    changed = snapshot.relations
      .filter((relation) => maskComputed(relation, masks.get(relation.oid)))
      .map(({ oid }) => oid)
  }
  return { masks, notes }
}

/**
 * A generated column over a masked one gets a mask too, where it has no rule of its own: always `Default`, as the function
 * of the other column may show another part of this value. Returns whether one got a mask.
 */
function maskComputed({ columns }: Relation, masks: Masks | undefined): boolean {
  if (!masks) return false
  const before = masks.size
  for (const { number, computedFrom } of columns) {
    const source = computedFrom.map((each) => masks.get(each)).find((rule) => rule !== undefined)
    if (source && !masks.has(number)) masks.set(number, { ...asDefault(source), isComputed: true })
  }
  return masks.size > before
}

/** A row is read through every table that it is part of: a mask goes down to all parts, and up to what they are part of. */
function spread(
  relations: readonly Relation[],
  changed: readonly number[],
  masks: ReadonlyMap<number, Masks>,
  mask: (relation: Relation, column: Column, rule: AssignedRule, isOwn: boolean) => void,
): void {
  const byOid = new Map(relations.map((relation) => [relation.oid, relation]))
  const kin = new Map<number, Relation[]>(relations.map(({ oid }) => [oid, []]))
  for (const child of relations)
    for (const parent of child.parents.flatMap((oid) => byOid.get(oid) ?? [])) {
      kin.get(child.oid)?.push(parent)
      kin.get(parent.oid)?.push(child)
    }
  const queue = [...changed]
  for (let oid = queue.shift(); oid !== undefined; oid = queue.shift())
    for (const [number, rule] of masks.get(oid) ?? []) {
      const name = byOid.get(oid)?.columns.find((column) => column.number === number)?.name
      for (const other of kin.get(oid) ?? []) {
        const column = other.columns.find((each) => each.name === name)
        if (!column || masks.get(other.oid)?.has(column.number)) continue
        mask(other, column, rule, false)
        queue.push(other.oid)
      }
    }
}

export function pinsOf(masks: Masks): Pin[] {
  return [...masks]
    .map(
      ([number, { name, schema, table, column, isComputed }]): Pin => ({
        rule: name,
        schema,
        table,
        column,
        number,
        ...(isComputed && { computed: true }),
      }),
    )
    .sort((a, b) => a.number - b.number)
}

// No name has a NUL.
const nameOf = (schema: string, name: string) => `${schema}\0${name}`
/** What a rule is known by: its name may stand for another column later, and the column has no other rule. */
export const placeOfRule = ({ schema, table, column }: Pick<Rule, 'schema' | 'table' | 'column'>) =>
  `${schema}\0${table}\0${column}`

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
