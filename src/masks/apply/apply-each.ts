import type { Note } from '../../contracts/note.ts'
import { sqlstateOf } from '../../db/sqlstate.ts'
import type { Tx } from '../../db/transaction.ts'
import { codeOf, sqlstate } from '../../kernel/sqlstate.ts'
import type { Oid, Snapshot, Statement } from '../model.ts'
import { noTwin } from '../plan/describe.ts'
import type { Group, MaskedRelation, Unfinished } from '../plan/model.ts'
import type { Plan } from '../plan/plan.ts'
import type { Holder } from '../sessions/holder.ts'
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
  readonly beforeStep?: ((at: number) => void | Promise<void>) | undefined
}

/** So long locks are waited for in all; after that no longer than a moment for each. */
const usual = { groupMs: 100, allMs: 500 }
/** Sessions in the way are ended meanwhile. */
const insistent = { groupMs: 2_000, allMs: 2_000 }
const momentMs = 5

/** Openings of a turn end after so long: other changes wait for it. */
const openingMs = 3_000

/** Savepoints cost round trips: so many closings share one until one of them fails. */
const mostTogether = 25

/** Closes each relation, one that fails holds up no other. `insists`: on these alone, sessions in the way are ended. */
export async function closeEach(run: Run, insists?: ReadonlySet<Oid>): Promise<Done> {
  const { tx, plan } = run
  const groups = plan.groups.filter(
    ({ key, close, closeTwin }) =>
      close.length + closeTwin.length > 0 && (insists === undefined || insists.has(Number(key))),
  )
  const wait = await limitWaits(tx, insists ? insistent : usual)
  const [steps, unfinished]: [Statement[], Unfinished[]] = [[], []]
  for (let from = 0; from < groups.length; from += mostTogether) {
    const some = groups.slice(from, from + mostTogether)
    if (some.length > 1 && unfinished.length === 0 && (await isDone(close(run, some)))) {
      steps.push(...some.flatMap(listClosings))
      continue
    }
    for (const group of some)
      try {
        await wait(() => close(run, [group]))
        steps.push(...listClosings(group))
      } catch (error) {
        unfinished.push(describe(run, group, error, false))
        // A lock on the relation is none on its twin, which may show what is hidden now.
        if (group.closeTwin.length > 0) await isDone(tx.savepoint(() => apply(tx, group.closeTwin)))
      }
  }
  return { steps, unfinished, notes: [] }
}

const listClosings = ({ close: own, closeTwin }: Group) => [...own, ...closeTwin]

async function close({ tx, snapshot, plan, beforeStep }: Run, groups: readonly Group[]): Promise<void> {
  const keys = new Set(groups.map(({ key }) => key))
  const own = plan.masked.filter(({ relation }) => keys.has(relation.oid))
  await tx.savepoint(async () => {
    await apply(tx, groups.flatMap(listClosings), beforeStep)
    await postcheck(tx, snapshot, own, true)
  })
}

/** False: it failed, and the transaction goes on. */
export async function isDone(work: Promise<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    (error: unknown) => {
      if (isHopeless(error)) throw error
      return false
    },
  )
}

/** Makes twins and gives privileges back, one relation after the other. */
export async function openEach(run: Run): Promise<Done> {
  const { tx, plan, snapshot, beforeStep } = run
  const wait = await limitWaits(tx, usual)
  const byOid = new Map<Group['key'], MaskedRelation>(plan.masked.map((one) => [one.relation.oid, one]))
  const failed = new Map<Group['key'], Blocked>()
  const [steps, unfinished, notes, late]: [Statement[], Unfinished[], Note[], Group[]] = [[], [], [], []]
  const end = Date.now() + openingMs
  for (const group of plan.groups) {
    const own = byOid.get(group.key)
    // What is not closed has its place among what is unfinished already.
    if (group.open.length === 0 || failed.has(group.key) || (own && group.close.length > 0)) continue
    const blocked = group.needs.flatMap((key) => failed.get(key) ?? [])[0]
    // At least one of them is done in each turn.
    if (blocked === undefined && Date.now() > end && steps.length > 0) {
      late.push(group)
      continue
    }
    try {
      if (blocked) throw blocked
      await wait(() =>
        tx.savepoint(async () => {
          await apply(tx, group.open, beforeStep)
          if (own) await postcheck(tx, snapshot, [own], false)
        }),
      )
      steps.push(...group.open)
    } catch (error) {
      const refusal = own && isRefused(error) ? group.refuse : []
      if (own && refusal.length > 0 && (await isDone(tx.savepoint(() => apply(tx, refusal))))) {
        steps.push(...refusal)
        notes.push(noTwin(own.relation, describeRefusal(error)))
        continue
      }
      const one = describe(run, group, error, own !== undefined)
      failed.set(group.key, new Blocked(one.reason, one.sqlstate, one.holders))
      // Relations that need the role or schema say what is in its way.
      if (typeof group.key !== 'string') unfinished.push(one)
    }
  }
  return { steps, unfinished: [...unfinished, ...describeLate(late)], notes }
}

const usesOthers = (error: unknown) => error instanceof NotAsPlanned && error.usesOthers

const isRefused = (error: unknown) =>
  usesOthers(error) ||
  (!(error instanceof Blocked) &&
    judge(error) === 'refused' &&
    sqlstateOf(error) !== sqlstate.insufficientPrivilege)

const describeRefusal = (error: unknown) =>
  usesOthers(error)
    ? 'its definition over twins would use other objects than the view does'
    : `PostgreSQL refused its definition over twins (SQLSTATE ${sqlstateOf(error)})`

/** What a twin needs is not there: its role or schema, or the twin of a relation that it reads. */
class Blocked extends Error {
  readonly code: string
  readonly holders: readonly Holder[]

  constructor(message: string, code: string, holders: readonly Holder[]) {
    super(message)
    this.code = code
    this.holders = holders
  }
}

const failedTransaction = '25P02'

/** It concerns the whole transaction: nothing more can be done in it. */
const isHopeless = (error: unknown) => judge(error) === 'lost' || codeOf(error) === failedTransaction

type Wait = (work: () => Promise<void>) => Promise<void>

/** Waits long for the first locks, and for later ones no longer than a moment. */
async function limitWaits(tx: Tx, { groupMs, allMs }: typeof usual): Promise<Wait> {
  const setWait = (ms: number) => tx`select set_config('lock_timeout', ${String(ms)}, true)`
  let restMs = allMs
  await setWait(groupMs)
  return async (work) => {
    const from = Date.now()
    try {
      await work()
    } catch (error) {
      const isPatient = restMs > 0
      if (judge(error) === 'locked') restMs -= Date.now() - from
      if (isPatient && restMs <= 0) await setWait(momentMs)
      throw error
    }
  }
}

function describe(
  { takeHolders }: Run,
  { target, key, waitsFor }: Group,
  error: unknown,
  isClosed: boolean,
): Unfinished {
  if (isHopeless(error)) throw error
  const oids = [...(typeof key === 'string' ? [] : [key]), ...waitsFor]
  const reason = error instanceof Error ? error.message : ''
  const holders = error instanceof Blocked && error.holders.length > 0 ? error.holders : takeHolders()
  return { target, oids, sqlstate: sqlstateOf(error), reason, holders, isClosed }
}

/** Relations whose turn to have twins did not come. */
function describeLate([first, ...others]: readonly Group[]): Unfinished[] {
  if (!first) return []
  const target = others.length === 0 ? first.target : `${first.target} and ${others.length} more relations`
  const reason = 'have no twins yet'
  return [{ target, oids: [], sqlstate: sqlstate.programLimitExceeded, reason, holders: [], isClosed: true }]
}
