import type { Database } from '../db/database.ts'
import { apply } from './apply.ts'
import { giveBackGrants, grantRelation, startPlan } from './diff.ts'
import { writeByOids } from './grants/by-oid.ts'
import { withoutLeft } from './grants/left-grants.ts'
import { toRecord } from './guard/guard-steps.ts'
import { type KeptRecords, readPlace } from './guard/kept-records.ts'
import { type StoredGuard, storeGuard } from './guard/stored-grants.ts'
import { type PolicySource, type ReconcileOptions, type Turn, takeTurn } from './in-turn.ts'
import type { Plan, Step } from './plan.ts'
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
  const closed = new Map<number, StoredGuard>()
  for (const wanted of desired.masked) {
    const known = records.get(wanted.relation.oid)
    const record = toRecord(wanted, roles)
    closed.set(record.oid, known ? { ...record, twin: known.twin, order: known.order } : record)
  }
  for (const [oid, record] of closed) records.set(oid, withoutLeft(record))
  await kept.write(place, [...records.values()])
  const plan = startPlan(snapshot, desired)
  const isDone = async (part: Part, write: (own: Plan) => void) => {
    const steps: Step[] = []
    write({ ...plan, steps })
    const run = async (byOids: boolean) => {
      await apply(tx, byOids ? writeByOids(steps, roles) : steps)
      const list = byOids ? listNamedByOids : listNamed
      await requireSameNames(tx, list(planned, 'none', part), planned, steps)
    }
    for (const byOids of [false, true])
      try {
        await tx.savepoint(() => run(byOids))
        return true
      } catch (error) {
        if (!isRaced(error)) return false
      }
    return false
  }
  for (const stray of desired.strays)
    await isDone({ masked: [], released: [] }, (own) => closeStray(own, stray))
  for (const wanted of desired.masked) {
    // The owners of the twins may not be there.
    const owners = new Set<string | null>(desired.owners.map(({ name }) => name))
    const grants = wanted.grants.filter(({ grantee }) => !owners.has(grantee))
    const { oid } = wanted.relation
    const isLeft = await isDone({ masked: [wanted], released: [] }, (own) =>
      grantRelation(own, { ...wanted, grants }),
    )
    const record = isLeft ? closed.get(oid) : undefined
    if (record) records.set(oid, record)
  }
  for (const released of desired.released)
    if (await isDone({ masked: [], released: [released] }, (own) => giveBackGrants(own, released)))
      records.delete(released.guard.oid)
  return { place, records: [...records.values()] }
}
