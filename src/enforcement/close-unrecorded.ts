import type { Database } from '../db/database.ts'
import { apply } from './apply.ts'
import { giveBackGrants, grantRelation, startPlan } from './diff.ts'
import { writeByOids } from './grants/by-oid.ts'
import { planHeld } from './grants/hold-grants.ts'
import { withoutLeft } from './grants/left-grants.ts'
import { toRecord } from './guard/guard-steps.ts'
import { type KeptRecords, readPlace } from './guard/kept-records.ts'
import { type StoredGuard, storeGuard } from './guard/stored-grants.ts'
import { type Planned, type PolicySource, type ReconcileOptions, type Turn, takeTurn } from './in-turn.ts'
import type { Desired, DesiredRelation, Plan, Step } from './plan.ts'
import { isRaced, listNamed, listNamedByOids, type Part, requireSameNames } from './same-names.ts'
import { closeStray } from './twins/close-strays.ts'

/**
 * Denies masked columns in a database in which the role of the binding may not create the schema of its records, and gives
 * back relations that lost their last rule. The service keeps the records itself: they are written before a grant is
 * revoked, so that none is lost if the node dies. A relation that cannot be changed keeps no other from being closed.
 */
export async function closeUnrecorded(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  kept: KeptRecords,
): Promise<void> {
  const rest = await takeTurn(target, policy, options, (turn) => closeAll(turn, kept), 'none', false)
  if (rest) await kept.write(rest.place, rest.records)
}

async function closeAll({ tx, planned, enter }: Turn, kept: KeptRecords) {
  const { snapshot, desired } = planned
  const { roles, guards, guard } = snapshot
  if (guard.isThere) return undefined
  await enter()
  const place = await readPlace(tx)
  const records = new Map(guards.map((one) => [one.oid, storeGuard(one, roles)]))
  const recordOf = (wanted: DesiredRelation): StoredGuard => {
    const known = guards.find(({ oid }) => oid === wanted.relation.oid)
    const record = toRecord(wanted, roles)
    return known ? { ...record, twin: known.twin, order: known.order } : record
  }
  for (const wanted of desired.masked) records.set(wanted.relation.oid, withoutLeft(recordOf(wanted)))
  await kept.write(place, [...records.values()])
  /** Returns the plan that it was done by; undefined: it could not be done. */
  const change = async (choose: (desired: Desired) => Part, write: (own: Plan) => void) => {
    const writeSteps = (one: Planned) => {
      const steps: Step[] = []
      write({ ...startPlan(one.snapshot, one.desired), steps })
      return steps
    }
    const first = writeSteps(planned)
    const run = async (byOids: boolean) => {
      const holding = { write: writeSteps, choose, isPatient: byOids }
      const { planned: now, steps } = await planHeld(tx, planned, first, holding)
      await apply(tx, byOids ? writeByOids(steps, roles) : steps)
      const list = byOids ? listNamedByOids : listNamed
      await requireSameNames(tx, list(now, 'none', choose(now.desired)), now, steps)
      return now
    }
    for (const byOids of [false, true])
      try {
        return await tx.savepoint(() => run(byOids))
      } catch (error) {
        if (!isRaced(error)) return undefined
      }
    return undefined
  }
  for (const stray of desired.strays)
    await change(
      () => ({ masked: [], released: [] }),
      (own) => closeStray(own, stray),
    )
  // The owners of the twins may not be there.
  const owners = new Set<string | null>(desired.owners.map(({ name }) => name))
  for (const { relation } of desired.masked) {
    const find = ({ masked }: Desired) => masked.filter((one) => one.relation.oid === relation.oid)
    const done = await change(
      (all) => ({ masked: find(all), released: [] }),
      (own) => {
        for (const wanted of find(own.desired)) {
          const grants = wanted.grants.filter(({ grantee }) => !owners.has(grantee))
          grantRelation(own, { ...wanted, grants })
        }
      },
    )
    for (const wanted of done ? find(done.desired) : []) records.set(relation.oid, recordOf(wanted))
  }
  for (const { guard: record } of desired.released) {
    const find = ({ released }: Desired) => released.filter((one) => one.guard.oid === record.oid)
    const done = await change(
      (all) => ({ masked: [], released: find(all) }),
      (own) => {
        for (const released of find(own.desired)) giveBackGrants(own, released)
      },
    )
    if (done) records.delete(record.oid)
  }
  return { place, records: [...records.values()] }
}
