import { type Access, grantAccess, type Remembered, remember } from './access.ts'
import { assignMasks, type Masks, type Note, pinsOf } from './assign-masks.ts'
import type { Guard, Pin, Relation, Snapshot } from './catalog.ts'
import { wantedText } from './guard-steps.ts'
import { shadowSchemaName, twinOwnerName } from './names.ts'
import type { Policy } from './policy.ts'
import { exemptions } from './roles.ts'
import { tableTwinSelect, viewTwinSelect } from './twin-select.ts'

/** What one relation is to look like while masks are on it. */
export interface DesiredRelation extends Access {
  readonly relation: Relation
  readonly pins: readonly Pin[]
  readonly hidesAll: boolean
  /** Null while the table is suspended. */
  readonly twin: DesiredTwin | null
}

export interface DesiredTwin {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
  readonly select: string
  readonly securityBarrier: boolean
}

export interface Released {
  readonly guard: Guard
  /** Undefined: it was dropped. */
  readonly relation: Relation | undefined
  readonly remembered: Remembered
}

export interface Desired {
  readonly twinOwner: string
  /** In an order in which each twin reads only earlier ones. */
  readonly masked: readonly DesiredRelation[]
  /** To be given back as they were. */
  readonly released: readonly Released[]
  /** Every role that is exempt, itself or through another. */
  readonly exempt: readonly string[]
  /** Nothing of ours is to be left in the database. */
  readonly empty: boolean
  /** What an operator should know. */
  readonly notes: readonly Note[]
}

/** Pure: from what is there and what the policy says to what should be there. */
export function desire(snapshot: Snapshot, policy: Policy, empty: boolean): Desired {
  const twinOwner = twinOwnerName(snapshot.database)
  const { masks, notes } = assignMasks(snapshot, policy)
  const ordered = orderByReads(snapshot.relations, masks)
  const twins = new Map(ordered.map((relation) => [relation.oid, relation]))
  const guards = new Map(snapshot.guards.map((guard) => [guard.oid, guard]))
  const exempt = exemptions(snapshot.roles, policy.exemptRoles)
  const suspended = findSuspended(ordered, policy)

  const masked = ordered.map((relation): DesiredRelation => {
    const own: Masks = masks.get(relation.oid) ?? new Map()
    // A view runs with its owner's eyes: as a whole it is for the exempt.
    const hidden = new Set(
      relation.definition === null ? own.keys() : relation.columns.map(({ number }) => number),
    )
    const remembered = remember(relation, guards.get(relation.oid), snapshot, twinOwner)
    return {
      relation,
      pins: pinsOf(own),
      hidesAll: relation.columns.every(({ number }) => hidden.has(number)),
      ...grantAccess(relation, remembered, hidden, exempt, snapshot, twinOwner),
      twin: suspended.has(relation.oid) ? null : desireTwin(relation, own, twins),
    }
  })
  for (const { relation, twin } of masked)
    if (twin && isRefused(guards.get(relation.oid), twin)) notes.push(noTwin(relation))
  const released = snapshot.guards
    .filter(({ oid }) => !twins.has(oid))
    .map((guard): Released => {
      const relation = snapshot.relations.find(({ oid }) => oid === guard.oid)
      const nothing: Remembered = { grants: [], columnGrants: [] }
      return {
        guard,
        relation,
        remembered: relation ? remember(relation, guard, snapshot, twinOwner) : nothing,
      }
    })
  return { twinOwner, masked, released, exempt: [...exempt.roles].sort(), empty, notes }
}

function desireTwin(relation: Relation, own: Masks, twins: ReadonlyMap<number, Relation>): DesiredTwin {
  return {
    schema: shadowSchemaName(relation.schema),
    name: relation.name,
    columns: relation.columns.map(({ name }) => name),
    select:
      relation.definition === null
        ? tableTwinSelect(relation, own)
        : viewTwinSelect(relation.definition, twins),
    securityBarrier: relation.securityBarrier,
  }
}

function isRefused(guard: Guard | undefined, twin: DesiredTwin): boolean {
  return guard?.twin?.made === null && guard.twin.wanted === wantedText(twin)
}

export function noTwin({ schema, name }: Pick<Relation, 'schema' | 'name'>): Note {
  const target = `${schema}.${name}`
  const message = `${target} shows masked data and cannot have a masked twin: PostgreSQL refused its definition over twins (a view that groups by a primary key must name every column in GROUP BY). It is closed to everybody who is not exempt.`
  return { code: 'NoTwin', target, message }
}

/** Masked tables, then every view that reads one, each after what it reads. Views cannot read in a circle. */
function orderByReads(relations: readonly Relation[], masks: ReadonlyMap<number, Masks>): Relation[] {
  const ordered = relations.filter(({ oid }) => masks.has(oid))
  const placed = new Set(ordered.map(({ oid }) => oid))
  const views = new Set(relations.filter(({ definition }) => definition !== null))
  const affected = new Set(placed)
  for (let grew = true; grew; ) {
    grew = false
    for (const view of views)
      if (!affected.has(view.oid) && view.reads.some((oid) => affected.has(oid)))
        grew = !!affected.add(view.oid)
  }
  for (let grew = true; grew; ) {
    grew = false
    for (const view of views) {
      if (!affected.has(view.oid) || placed.has(view.oid)) continue
      if (view.reads.some((oid) => affected.has(oid) && !placed.has(oid))) continue
      ordered.push(view)
      grew = !!placed.add(view.oid)
    }
  }
  return ordered
}

/** A suspended table takes the twins of everything that reads it along. */
function findSuspended(ordered: readonly Relation[], { suspended }: Policy): ReadonlySet<number> {
  const found = new Set<number>()
  for (const { oid, schema, name, reads, parents } of ordered) {
    const named = suspended.some((target) => target.schema === schema && target.table === name)
    if (named || [...reads, ...parents].some((other) => found.has(other))) found.add(oid)
  }
  return found
}
