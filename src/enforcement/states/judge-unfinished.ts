import { sqlstate } from '../../kernel/sqlstate.ts'
import type { Outcome } from '../in-turn.ts'
import type { Note } from '../plan.ts'
import { type Blocker, describeBlocker } from '../sessions/blockers.ts'
import { statementToEnd } from '../sessions/holder.ts'
import type { Unfinished } from '../unfinished.ts'
import { capNotes, joinReasons } from './cap-notes.ts'
import { isPassing } from './is-passing.ts'
import type { StateStore } from './state-store.ts'

export interface Judgement {
  /** Null: the policy is enforced, apart from what the notes say. */
  readonly state: 'Pending' | 'Failed' | null
  readonly reason: string
  readonly notes: readonly Note[]
  readonly lacksPrivilege: boolean
}

/**
 * The state of a database of which some relations could not be changed. A view that is closed and has no twin is worth a
 * note; so is one that is not closed, where its owner sees masks itself: it reads with the rights of its owner.
 */
export function judgeUnfinished(
  { desired, snapshot }: Outcome,
  unfinished: readonly Unfinished[],
  blockers: readonly Blocker[],
): Judgement {
  const relations = new Map(snapshot.relations.map((relation) => [relation.oid, relation]))
  const isHarmless = ({ oids, isClosed, sqlstate: code }: Unfinished) => {
    if (code === sqlstate.objectNotInPrerequisiteState) return false
    const relation = relations.get(oids[0] ?? 0)
    if (!relation) return oids.length === 0
    if (relation.definition === null) return false
    return (
      isClosed || !(desired.exempt.includes(relation.owner) || snapshot.roles.get(relation.owner)?.superuser)
    )
  }
  const waiting = unfinished.filter(isPassing)
  const refused = unfinished.filter((one) => !isPassing(one))
  const serious = refused.filter((one) => !isHarmless(one))
  const unmasked = desired.notes.filter(({ code }) => code === 'NotMasked').map(({ message }) => message)
  const hasFailed = serious.length > 0 || unmasked.length > 0
  return {
    state: hasFailed ? 'Failed' : waiting.length > 0 ? 'Pending' : null,
    reason: joinReasons([
      ...unmasked,
      ...serious.map(describeRefused),
      ...waiting.map((one) => describeWaiting(one, blockers)),
    ]),
    notes: [
      ...waiting.map(
        (one): Note => ({ code: 'Locked', target: one.target, message: describeWaiting(one, blockers) }),
      ),
      ...refused.map(
        (one): Note => ({ code: 'NotClosed', target: one.target, message: describeRefused(one) }),
      ),
    ],
    lacksPrivilege: hasFailed && refused.some((one) => one.sqlstate === sqlstate.insufficientPrivilege),
  }
}

function describeRefused({ target, oids, isClosed, reason, sqlstate: code }: Unfinished): string {
  if (oids.length === 0) return `${target} was refused: ${reason}.`
  if (isClosed && code === sqlstate.invalidSchemaName)
    return `${target} has no twin, because the schema for it could not be created. Masked roles cannot read it.`
  const effect = isClosed
    ? 'Masked roles cannot read it.'
    : 'Roles that were granted it read it as they did before.'
  if (code === sqlstate.objectNotInPrerequisiteState)
    return `${target} could not be changed: ${reason}. ${effect}`
  return `${target} could not be changed: ${reason}. ${effect} Let the role of the binding act for its owner and use its schema, or drop it.`
}

function describeWaiting(
  { target, isClosed, sqlstate: code, reason }: Unfinished,
  blockers: readonly Blocker[],
): string {
  if (code === sqlstate.programLimitExceeded) return `${target} ${reason}.`
  const own = blockers.filter((one) => one.target === target)
  const holder = own.length === 0 ? 'another session' : own.map(describeBlocker).join(', ')
  const end = own.map(({ holder }) => statementToEnd(holder)).join('; ')
  const effect = isClosed
    ? 'Masked roles cannot read it until then.'
    : 'Until then it is as it was, raw values included.'
  return `${target} waits for a lock that ${holder} holds. ${effect}${end === '' ? '' : ` To end it: ${end}.`}`
}

/**
 * Null: they stay as they are. A look at some tables leaves the notes about the others. `renewed`: codes of which `more` has every
 * note that there is.
 */
export async function mergeNotes(
  states: Pick<StateStore, 'read'>,
  databaseId: string,
  outcome: Outcome,
  more: readonly Note[],
  renewed: readonly Note['code'][] = [],
): Promise<readonly Note[] | null> {
  if (outcome.isWhole) return capNotes([...outcome.notes, ...more])
  const added = [...outcome.notes, ...more]
  if (added.length === 0 && renewed.length === 0) return null
  const { notes } = await states.read(databaseId)
  const codes = new Set([...renewed, ...more.map(({ code }) => code)])
  const told = new Set(outcome.notes.map(nameNote))
  const kept = notes.filter((note) => !codes.has(note.code) && !told.has(nameNote(note)))
  return added.length === 0 && kept.length === notes.length ? null : capNotes([...kept, ...added])
}

function nameNote({ code, target }: Note): string {
  return `${code} ${target}`
}
