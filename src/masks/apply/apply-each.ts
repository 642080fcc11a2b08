import type { Note } from '../../contracts/note.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import type { Holder } from '../../sessions/holder.ts'
import type { Oid, Snapshot, Statement } from '../model.ts'
import { noTwin } from '../plan/describe.ts'
import type { Group, MaskedRelation, Unfinished } from '../plan/model.ts'
import { dropTwin } from '../plan/open-twin.ts'
import type { Plan } from '../plan/plan.ts'
import { refused } from '../plan/write-twins.ts'
import { apply } from './apply.ts'
import { judge } from './outcomes.ts'
import { NotAsPlanned, postcheck } from './postcheck.ts'

export interface Done {
  readonly steps: readonly Statement[]
  readonly unfinished: readonly Unfinished[]
  readonly notes: readonly Note[]
}

/** What the groups of one transaction share. */
export interface Run {
  readonly tx: Tx
  readonly snapshot: Snapshot
  readonly plan: Plan
  /** Sessions that were seen in the way since the last call. */
  readonly takeHolders: () => readonly Holder[]
  readonly beforeStep?: (() => void | Promise<void>) | undefined
}

/** So long each of the first locks that are in the way is waited for; later ones no longer than a moment. */
const usual = { waitMs: 100, patience: 5 }
/** Sessions in the way are ended meanwhile. */
const insistent = { waitMs: 2_000, patience: 1 }
const momentMs = 5

/** Openings of a turn end after so long: other changes wait for it. */
const openingMs = 3_000

/** Savepoints cost round trips: so many closings share one, unless one of them fails. */
const mostTogether = 25

/** Closes each relation, one that fails holds up no other. `insists`: on these alone, sessions in the way are ended. */
export async function closeEach(run: Run, insists?: ReadonlySet<Oid>): Promise<Done> {
  const { plan } = run
  const groups = plan.groups
    .filter(({ key }) => insists === undefined || insists.has(Number(key)))
    .map((group) => ({ group, statements: [...group.close, ...group.closeTwin] }))
    .filter(({ statements }) => statements.length > 0)
  const change = await startChanges(run, insists ? insistent : usual, true)
  const [steps, unfinished]: [Statement[], Unfinished[]] = [[], []]
  const closeSome = async (some: typeof groups): Promise<void> => {
    const statements = some.flatMap((one) => one.statements)
    const error = await change(
      statements,
      some.map(({ group }) => group),
    )
    if (error === null) steps.push(...statements)
    else if (some.length > 1) for (const one of some) await closeSome([one])
    else
      for (const { group } of some) {
        unfinished.push({ ...placeOf(group), ...explain(run, error), isClosed: false })
        // A lock on the relation is none on its twin, which may show what is hidden now.
        if (group.closeTwin.length > 0) await change(group.closeTwin, [])
      }
  }
  for (let from = 0; from < groups.length; from += mostTogether)
    await closeSome(groups.slice(from, from + mostTogether))
  return { steps, unfinished, notes: [] }
}

/** Makes twins and gives privileges back, one relation after the other. */
export async function openEach(run: Run): Promise<Done> {
  const { plan } = run
  const change = await startChanges(run, usual, false)
  const masked = new Map<Group['key'], MaskedRelation>(plan.masked.map((one) => [one.relation.oid, one]))
  const needed = new Set(plan.groups.flatMap(({ needs }) => needs))
  const failed = new Map<Group['key'], Cause>()
  const [steps, unfinished, notes]: [Statement[], Unfinished[], Note[]] = [[], [], []]
  const end = Date.now() + openingMs
  for (const group of plan.groups) {
    const own = masked.get(group.key)
    // What is not closed has its place among what is unfinished already.
    if (group.open.length === 0 || failed.has(group.key) || (own && group.close.length > 0)) continue
    const blocked = group.needs.flatMap((key) => failed.get(key) ?? [])[0]
    // At least one of them is done in each turn.
    const isLate = Date.now() > end && steps.length > 0
    const error = blocked || isLate ? undefined : await change(group.open, [group])
    if (error === null) {
      steps.push(...group.open)
      continue
    }
    const dropped = own?.twin && isRefused(error) ? dropTwin(run.snapshot, own, own.twin.basis) : []
    if (own && dropped.length > 0 && (await change(dropped, [])) === null) {
      steps.push(...dropped)
      notes.push(noTwin(own.relation, refused))
      continue
    }
    const cause = blocked ?? (isLate ? { ...tooLate } : explain(run, error))
    // Sessions are sampled: they may have been seen since.
    if (cause.holders.length === 0) cause.holders = run.takeHolders()
    const one = { ...placeOf(group), ...cause, isClosed: own !== undefined || isLate }
    failed.set(group.key, cause)
    // Relations that a role or schema needs, or that need it, say what is in the way.
    if (typeof group.key !== 'string' || !(blocked || needed.has(group.key))) unfinished.push(one)
  }
  return { steps, unfinished, notes }
}

const isRefused = (error: unknown) =>
  (error instanceof NotAsPlanned && error.usesOthers) ||
  (error !== undefined && judge(error) === 'refused' && sqlstateOf(error) !== sqlstate.insufficientPrivilege)

const failedTransaction = '25P02'

/** It concerns the whole transaction: nothing more can be done in it. */
const isHopeless = (error: unknown) => judge(error) === 'lost' || codeOf(error) === failedTransaction

/** Returns a function that runs statements as one, and says why it could not. */
async function startChanges(
  { tx, snapshot, plan, beforeStep }: Run,
  { waitMs, patience }: typeof usual,
  isClosing: boolean,
) {
  const setWait = (ms: number) => tx`select set_config('lock_timeout', ${String(ms)}, true)`
  let left = patience
  await setWait(waitMs)
  return async (statements: readonly Statement[], groups: readonly Group[]): Promise<unknown> => {
    const keys = new Set(groups.map(({ key }) => key))
    const own = keys.size === 0 ? [] : plan.masked.filter(({ relation }) => keys.has(relation.oid))
    try {
      await tx.savepoint(async () => {
        await apply(tx, statements, beforeStep)
        await postcheck(tx, snapshot, own, isClosing)
      })
      return null
    } catch (error) {
      if (isHopeless(error)) throw error
      if (judge(error) === 'locked' && --left === 0) await setWait(momentMs)
      return error
    }
  }
}

/** Also of what needs it. */
type Cause = Pick<Unfinished, 'sqlstate' | 'reason'> & { holders: readonly Holder[] }

const tooLate = { sqlstate: sqlstate.programLimitExceeded, reason: 'has no twin yet', holders: [] }

const explain = ({ takeHolders }: Run, error: unknown): Cause => ({
  sqlstate: sqlstateOf(error),
  reason: error instanceof Error ? error.message : '',
  holders: takeHolders(),
})

const placeOf = ({ target, key, needs }: Group): Pick<Unfinished, 'target' | 'oids'> => ({
  target,
  oids: typeof key === 'string' ? [] : [key, ...needs].filter((one) => typeof one !== 'string'),
})
