import { quoteQualified } from '../../db/quote.ts'
import type { ObservedTwin, Snapshot } from '../catalog.ts'
import { actAs, setGrants } from '../grants/grant-steps.ts'
import { hasRecords, markClosed } from '../guard/guard-steps.ts'
import { twinClosed, twinLeft, twinRetired } from '../notes.ts'
import type { Plan, Released, Step } from '../plan.ts'
import type { Misplaced } from './misplaced-twins.ts'
import { nameTwin } from './twin-steps.ts'

/** After the grants of the relations were given back. */
export function dropReleased(plan: Plan): void {
  const { steps, desired } = plan
  const released = desired.released.flatMap((one) => {
    const name = nameReleased(plan, one)
    return name === undefined ? [] : [{ ...one, name }]
  })
  if (released.length === 0) return
  steps.push({
    sql: `DROP VIEW ${released.map(({ name }) => name).join(', ')}`,
    why: 'twins of relations without a mask',
    as: desired.twinOwner,
    together: 'released twins',
    otherwise: inDropOrder(released).map((one) => dropOrKeep(plan, one.name)),
  })
}

/** The twin of a relation that is given back; none where another relation has a twin in its place. */
export function nameReleased(plan: Plan, { guard }: Released): string | undefined {
  const { schema, name } = guard.twin ?? {}
  const isTaken = plan.desired.masked.some(({ twin }) => twin?.schema === schema && twin?.name === name)
  return isTaken ? undefined : nameTwin(plan, guard.oid)
}

/** A view that roles built on a twin does not keep a mask from being removed: the twin stays for it, without a right of its own. */
export function dropOrKeep(plan: Plan, name: string): Step {
  const { twins, desired } = plan
  const stray = desired.strays.find((one) => quoteQualified(one.schema, one.name) === name)
  const twin = twins.get(name)
  if (stray || !twin)
    return {
      sql: `DROP VIEW ${name}`,
      why: 'the twin of a relation without a mask',
      as: desired.twinOwner,
      orElse: { sql: 'SELECT 1', why: 'objects of others read it' },
      ...(stray ? { note: twinClosed(stray) } : {}),
    }
  return retireTwin(plan, twin)
}

/** Twins that an earlier release left for objects of others when their masks ended: they read with the rights of their owner. */
export function retireLeftovers(plan: Plan): Step[] {
  return plan.desired.leftovers.map((one) => retireTwin(plan, one))
}

/**
 * Drops a twin that no mask needs. One that objects of others read stays as it is, masked, and reads with the rights of its reader: no
 * turn compares its grants and its owner with those of the table any more. Before PostgreSQL 15 it is closed. One for whose owner the
 * binding cannot act, the former owner of a view, is left alone: it reads with the rights of that role.
 */
function retireTwin({ snapshot, desired }: Plan, twin: ObservedTwin): Step {
  const name = quoteQualified(twin.schema, twin.name)
  const why = 'objects of others read it'
  const disarm = { sql: `ALTER VIEW ${name} SET (security_invoker = true)`, why, ...actAs(twin) }
  const mayAct = twin.managed !== 'not'
  const orElse: Step = !mayAct
    ? { sql: 'SELECT 1', why }
    : hasInvokers(snapshot)
      ? { ...disarm, orElse: revokeAtOnce(twin) }
      : revokeAtOnce(twin)
  return {
    sql: `DROP VIEW ${name}`,
    why: 'a twin that no mask needs',
    as: desired.twinOwner,
    orElse,
    note: mayAct ? twinRetired(twin, hasInvokers(snapshot)) : twinLeft(twin),
  }
}

/** A session that reads the twin keeps neither its table from being given back nor the twin open: a later turn goes on. */
function revokeAtOnce(twin: ObservedTwin): Step {
  const steps: Step[] = []
  revokeAll(steps, twin, actAs(twin))
  const sql = steps.map((step) => step.sql).join('; ') || 'SELECT 1'
  return { sql, why: 'a session reads it', ...actAs(twin) }
}

/** True when the twin still reads with the rights of its owner, for other roles. */
export function isArmed(snapshot: Pick<Snapshot, 'version'>, twin: ObservedTwin): boolean {
  const isOthers = ({ grantee }: { readonly grantee: string | null }) => grantee !== twin.owner
  return hasInvokers(snapshot)
    ? !twin.securityInvoker
    : twin.grants.some(isOthers) || twin.columnGrants.some(isOthers)
}

function hasInvokers({ version }: Pick<Snapshot, 'version'>): boolean {
  return version >= 150000
}

/** The record says that the service closed it: no role has revoked these grants. */
export function closeMisplaced(plan: Plan, { guard, twin }: Misplaced): void {
  revokeAll(plan.steps, twin, { as: twin.owner })
  if (hasRecords(plan) && !guard.twin?.isClosed)
    plan.steps.push(markClosed(plan.snapshot.guard.schema, guard.oid))
}

/** No lock of a reader is waited for. `as`: PostgreSQL answers a REVOKE by another role than the owner's with a warning. */
function revokeAll(steps: Step[], twin: ObservedTwin, as: { readonly as?: string }): void {
  const { schema, name, owner, columns } = twin
  const on = quoteQualified(schema, name)
  const target = { on, oid: null, owner, columns: columns.map((column) => column.name), ...as }
  setGrants(steps, target, twin, { grants: [], columnGrants: [] })
}

/** Views before the relations that they read. */
export function inDropOrder<R extends Released>(released: readonly R[]): R[] {
  const byOid = new Map(released.map((one) => [one.guard.oid, one]))
  const placed = new Set<R>()
  const place = (one: R) => {
    if (placed.has(one)) return
    for (const oid of one.relation?.reads ?? []) {
      const read = byOid.get(oid)
      if (read) place(read)
    }
    placed.add(one)
  }
  for (const one of released) place(one)
  return [...placed].reverse()
}
