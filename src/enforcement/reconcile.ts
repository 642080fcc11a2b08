import type { Database } from '../db/database.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import { tracer } from '../kernel/tracer.ts'
import { apply } from './apply.ts'
import { closeUnrecorded } from './close-unrecorded.ts'
import { diff, findNewlyHidden } from './diff.ts'
import { planHeld } from './grants/hold-grants.ts'
import { type PreparedCopy, prepareCopy } from './guard/copy-records.ts'
import {
  isGuarded,
  type Outcome,
  type Planned,
  type PolicySource,
  type ReconcileOptions,
  readVersion,
  takeTurn,
} from './in-turn.ts'
import type { Desired, Step } from './plan.ts'
import type { Reading } from './read-relations.ts'
import { PartlyEnforced, reconcileByRelation } from './reconcile-by-relation.ts'
import { listAll, NamesExchanged, requireSameNames } from './same-names.ts'
import { NameHeld } from './sessions/name-holders.ts'
import { recordLateReaders } from './sessions/old-readers.ts'
import { Unfit } from './states/explain-failure.ts'
import { TwinsLate } from './twins/print-twins.ts'

/** Another node was the first to create our schema, or the last to drop it. */
const conflicts: readonly string[] = [
  sqlstate.uniqueViolation,
  sqlstate.invalidSchemaName,
  sqlstate.undefinedObject,
  sqlstate.undefinedTable,
  sqlstate.duplicateSchema,
  sqlstate.duplicateTable,
  sqlstate.duplicateObject,
]

/**
 * SQLSTATEs that say nothing about one relation: connection, transaction, authorization, resources, shutdown. 25P02 says that an
 * earlier statement has failed.
 */
const concernsAll = /^(08|25(?!P02)|28|3D|53|57P)/

/** More was read than there is time or memory for. Closing reads less. */
const readsTooMuch = /^(EANSWER|Query read timeout)$/

/**
 * observe → desire → diff → apply, in one transaction: a reader sees the old state or the new one. Where a relation
 * blocks that, relation by relation: everything that is to be masked is closed first. Throws `PartlyEnforced` when
 * something is left to do then.
 */
export function reconcile(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions = {},
): Promise<Outcome> {
  const work = () => reconcileUntilDone(target, policy, options)
  if (!tracer) return work()
  const attributes = { 'masquerade.dry_run': options.dryRun ?? false }
  return tracer.run('enforcement', attributes, work)
}

async function reconcileUntilDone(
  target: Database,
  policy: PolicySource,
  given: ReconcileOptions,
): Promise<Outcome> {
  const exchanged = new Set<number>()
  let isWhole = false
  let isSpared = false
  for (let attempt = 1; ; attempt++) {
    const focus = isWhole ? { focus: () => undefined } : {}
    const printing = { ...given.printing, isSpared }
    const options = { ...given, ...focus, printing, exchanged: [...exchanged] }
    try {
      return await reconcileAtOnce(target, policy, options)
    } catch (error) {
      const code = sqlstateOf(error)
      const isConflict = (cause: unknown) => {
        if (cause instanceof NamesExchanged) for (const schema of cause.schemas) exchanged.add(schema)
        // The twin of a relation out of view has the name: a look at everything tells whether it stays.
        const isWider = !isWhole && isTaken(cause)
        isWhole ||= isWider
        // A slow server: relation by relation, some twins would be closed for a moment in each turn.
        const isSparing = !isSpared && cause instanceof TwinsLate
        isSpared ||= isSparing
        // The text of a twin may lead to others for good: relation by relation it is tried again, and the rest is done.
        const isExchange = cause instanceof NamesExchanged && !cause.isMisled
        return attempt < 5 && (isWider || isSparing || isExchange || conflicts.includes(sqlstateOf(cause)))
      }
      if (isConflict(error)) continue
      const isHopeless = code.length !== 5 || concernsAll.test(code)
      if (isHopeless && !readsTooMuch.test(code)) throw error
      if (options.dryRun) return await reconcileAtOnce(target, policy, options, 'careful')
      try {
        return await reconcileByRelation(target, policy, options, error)
      } catch (late) {
        if (isConflict(late)) continue
        if (options.kept && lacksRecords(late)) await closeUnrecorded(target, policy, options, options.kept)
        throw late
      }
    }
  }
}

function isTaken(error: unknown): boolean {
  const codes = error instanceof PartlyEnforced ? error.unfinished.map(({ sqlstate }) => sqlstate) : []
  return [sqlstateOf(error), ...codes].includes(sqlstate.duplicateTable)
}

/** The schema of our records, or the owner of the twins, could not be created. */
function lacksRecords(error: unknown): boolean {
  if (error instanceof PartlyEnforced) return false
  return error instanceof NameHeld || sqlstateOf(error) === sqlstate.insufficientPrivilege
}

/** The steps that would be run: none where the masks belong to another resource, which the state says. */
export async function dryRun(
  target: Database,
  policy: PolicySource,
  options: Pick<ReconcileOptions, 'claimant' | 'findNeighbours' | 'kept'>,
): Promise<readonly Step[]> {
  try {
    return (await reconcile(target, policy, { ...options, dryRun: true })).steps
  } catch (error) {
    if (error instanceof Unfit) return []
    throw error
  }
}

class DryRun extends Error {}

async function reconcileAtOnce(
  target: Database,
  policy: PolicySource,
  options: ReconcileOptions,
  mode: Reading['mode'] = 'all',
): Promise<Outcome> {
  let outcome: Outcome | undefined
  let copy: PreparedCopy | undefined
  try {
    await takeTurn(
      target,
      policy,
      options,
      async ({ tx, planned: first, done, claimed, record, copy: own, enter }) => {
        const write = ({ snapshot, desired }: Planned) => [...diff(snapshot, desired), ...claimed]
        const wanted = write(first)
        outcome = { ...first, steps: [...done, ...wanted], record }
        if (options.dryRun) throw new DryRun()
        if (wanted.length > 0) await enter()
        const choose = (desired: Desired) => desired
        const { planned, steps } = await planHeld(tx, first, wanted, { write, choose, isPatient: false })
        outcome = { ...planned, steps: [...done, ...steps], record }
        const notes = await apply(tx, steps, options.beforeStep)
        const isChanged = steps.length > 0
        const isCopied = own && isGuarded(outcome)
        const [prepared, version] = await Promise.all([
          isCopied ? prepareCopy(tx, own, record, planned, isChanged) : undefined,
          isChanged && !isCopied ? readVersion(tx, planned) : undefined,
          isChanged ? requireSameNames(tx, listAll(planned, mode), planned, steps) : undefined,
        ])
        copy = prepared
        outcome = {
          ...outcome,
          notes: [...outcome.notes, ...notes],
          record: isChanged ? (copy?.version ?? version ?? (await readVersion(tx, planned))) : record,
        }
      },
      mode,
    )
  } catch (error) {
    if (!(error instanceof DryRun)) throw error
  }
  if (!outcome) throw new Error('a transaction ended without running')
  if (options.dryRun) return outcome
  await recordLateReaders(target, outcome.snapshot.guard.schema, findNewlyHidden(outcome))
  await (isGuarded(outcome) ? copy?.write() : options.kept?.clear())
  return copy ? { ...outcome, notes: [...outcome.notes, ...copy.notes] } : outcome
}
