import type { Tx } from '../db/transaction.ts'
import { apply } from './apply.ts'
import { diffClosings, diffOpenings, guardTarget, type StepGroup } from './diff-by-relation.ts'
import { writeByOids } from './grants/by-oid.ts'
import { listChanged, planHeld } from './grants/hold-grants.ts'
import type { Planned } from './in-turn.ts'
import type { Desired, Note, Step } from './plan.ts'
import { listGuardReaders, listNamed, listNamedByOids, type Part, requireSameNames } from './same-names.ts'

export type RunGroups = (groups: readonly StepGroup[], byOids?: boolean) => Promise<Note[]>

/**
 * Runs groups within a savepoint. They fail when what they name had other names meanwhile. Where grants have changed since the plan, this
 * group and later ones are written anew.
 */
export function runsGroups(tx: Tx, planned: Planned, mode: 'none' | 'careful'): RunGroups {
  const held = new Set<string>()
  let latest = planned
  // There may be thousands of groups, one at a time.
  const chooserOf = rememberLast(createChooser)
  const stepsOf = rememberLast(mode === 'careful' ? indexOpenings : indexClosings)
  return async (groups, byOids = false) => {
    const oids = new Set(groups.flatMap(({ target }) => target?.oid ?? []))
    const choose = (desired: Desired) => chooserOf(desired)(oids)
    const write = (now: Planned) =>
      groups.flatMap((group) =>
        group.does && now !== planned ? (stepsOf(now).get(keyOf(group)) ?? []) : group.steps,
      )
    const drops = groups.flatMap((group) => group.drops ?? [])
    const [notes, steps, known] = await tx.savepoint(async () => {
      const holding = { write, choose, isPatient: byOids, drops, held }
      const { planned: now, steps: all } = await planHeld(tx, latest, write(latest), holding)
      const notes = await apply(tx, byOids ? writeByOids(all, planned.snapshot.roles) : all)
      const named = (byOids ? listNamedByOids : listNamed)(now, mode, choose(now.desired))
      if (oids.size > 0) await requireSameNames(tx, named, now, all)
      if (groups.some(({ target }) => target?.name === guardTarget))
        await requireSameNames(tx, listGuardReaders(planned), planned)
      return [notes, all, now] as const
    })
    latest = known
    for (const name of [...listChanged(steps), ...drops]) held.add(name)
    return notes
  }
}

const keyOf = ({ does, target }: StepGroup) => JSON.stringify([does, target?.oid])

type Steps = ReadonlyMap<string, readonly Step[]>

function indexClosings({ snapshot, desired }: Planned): Steps {
  return new Map(diffClosings(snapshot, desired).map((group) => [keyOf(group), group.steps]))
}

function indexOpenings({ snapshot, desired }: Planned): Steps {
  return new Map(diffOpenings(snapshot, desired).map((group) => [keyOf(group), group.steps]))
}

/** Returns what is desired of some relations, by oid. */
function createChooser(desired: Desired): (oids: ReadonlySet<number>) => Part {
  const masked = new Map(desired.masked.map((one) => [one.relation.oid, one]))
  const released = new Map(desired.released.map((one) => [one.guard.oid, one]))
  return (oids) => ({
    masked: [...oids].flatMap((oid) => masked.get(oid) ?? []),
    released: [...oids].flatMap((oid) => released.get(oid) ?? []),
  })
}

function rememberLast<K, V>(make: (key: K) => V): (key: K) => V {
  let last: { readonly key: K; readonly value: V } | undefined
  return (key) => {
    if (last?.key !== key) last = { key, value: make(key) }
    return last.value
  }
}
