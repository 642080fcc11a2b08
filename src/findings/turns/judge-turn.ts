import type { Note } from '../../contracts/note.ts'
import type { Place } from '../../db/database-url.ts'
import { joinReasons } from '../../kernel/join-reasons.ts'
import { sqlstate } from '../../kernel/sqlstate.ts'
import { mayPass } from '../../masks/apply/outcomes.ts'
import type { Failed, Judged, JudgedTurn, Look } from '../../masks/control/findings-port.ts'
import type { Unfinished } from '../../masks/plan/model.ts'
import type { TurnResult } from '../../masks/turn.ts'
import { describeFinding } from '../../masks/unfit.ts'
import { NameHeld, statementToEnd } from '../../sessions/holder.ts'
import { type Blocker, describeBlocker } from '../../sessions/in-the-way.ts'
import { examine } from '../preflight.ts'
import { type Described, describeTurn } from './describe-turn.ts'
import { explainFailure } from './explain-failure.ts'

/** The state that a turn leaves, in words. */
export async function judgeTurn(turn: JudgedTurn, look: Look): Promise<Judged> {
  const { result, blockers, notes, waits, strangers, stored } = turn
  const judged = judgeUnfinished(result, blockers)
  const missing = judged.lacksPrivilege ? await findMissing(look) : null
  const more = [...notes, ...strangers.map(noteForeignServer), ...judged.notes]
  return {
    state: judged.state ?? (waits.length > 0 ? 'Pending' : null),
    reason: [judged.reason, ...waits, missing].filter(Boolean).join(' '),
    notes: mergeNotes(result, more, stored),
  }
}

/**
 * Why a turn failed as a whole, with what the database itself tells of it: privileges that are missing, as statements,
 * and sessions that hold every lock of the server, or a name that the masks need.
 */
export async function explainTurn(
  error: unknown,
  blockers: readonly Blocker[] | null,
  look: Look,
): Promise<Failed> {
  const { passing, reason, lacksPrivilege } = explainFailure(error)
  const state = passing ? 'Pending' : 'Failed'
  if (lacksPrivilege) return { state, reason: (await findMissing(look)) ?? reason }
  if (blockers === null) return { state, reason }
  const who = blockers.length === 0 ? '' : `: ${blockers.map(describeBlocker).join(', ')}`
  const isHeld = error instanceof NameHeld
  const effect = isHeld ? 'Masked columns are denied until it ends.' : 'Masks stay as they are until then.'
  return { state, reason: `${reason}${who}. ${effect}${describeEnd(blockers)}` }
}

/** The missing privileges as statements; null when none is missing, or the database cannot be asked. */
async function findMissing({ open }: Look): Promise<string | null> {
  try {
    const database = await open()
    if (!database) return null
    const { refusals } = await examine(database.sql, database.policy.rules)
    return refusals.length === 0 ? null : refusals.map(describeFinding).join(' ')
  } catch {
    return null
  }
}

/**
 * The state of a database of which some relations could not be changed. A view that is closed and has no twin is
 * worth a note; so is one that is not closed, where its owner sees masks itself: it reads with the rights of its
 * owner.
 */
export function judgeUnfinished(
  result: Described & Pick<TurnResult, 'unfinished'>,
  blockers: readonly Blocker[],
): Judged & { readonly lacksPrivilege: boolean } {
  const { snapshot, unfinished } = result
  const isHarmless = ({ oids, isClosed }: Unfinished) => {
    const relation = snapshot.relations.get(oids[0] ?? 0)
    if (!relation) return oids.length === 0
    if (!relation.kind.endsWith('view')) return false
    return isClosed || !(snapshot.exempt.roles.has(relation.owner) || snapshot.superusers.has(relation.owner))
  }
  const describe = (one: Unfinished) => (mayPass(one) ? describeWaiting(one, blockers) : describeRefused(one))
  const waiting = unfinished.filter(mayPass)
  const serious = unfinished.filter((one) => !mayPass(one) && !isHarmless(one))
  const unmasked = describeTurn(result).flatMap(({ code, message }) => (code === 'NotMasked' ? message : []))
  const hasFailed = serious.length > 0 || unmasked.length > 0
  return {
    state: hasFailed ? 'Failed' : waiting.length > 0 ? 'Pending' : null,
    reason: joinReasons([...unmasked, ...[...serious, ...waiting].map(describe)]),
    notes: unfinished.map((one): Note => {
      return { code: mayPass(one) ? 'Locked' : 'NotClosed', target: one.target, message: describe(one) }
    }),
    lacksPrivilege: hasFailed && unfinished.some((one) => one.sqlstate === sqlstate.insufficientPrivilege),
  }
}

function describeRefused({ target, oids, isClosed, reason }: Unfinished): string {
  if (oids.length === 0) return `${target} was refused: ${reason}.`
  const effect = isClosed
    ? 'Masked roles cannot read it.'
    : 'Roles that were granted it read it as they did before.'
  const remedy = 'Let the role of the binding act for its owner and use its schema, or drop it.'
  return `${target} could not be changed: ${reason}. ${effect} ${remedy}`
}

function describeWaiting(
  { target, isClosed, sqlstate: code, reason }: Unfinished,
  blockers: readonly Blocker[],
): string {
  if (code === sqlstate.programLimitExceeded) return `${target} ${reason}.`
  const own = blockers.filter((one) => one.target === target)
  const holder = own.length === 0 ? 'another session' : own.map(describeBlocker).join(', ')
  const effect = isClosed
    ? 'Masked roles cannot read it until then.'
    : 'Until then it is as it was, raw values included.'
  return `${target} waits for a lock that ${holder} holds. ${effect}${describeEnd(own)}`
}

const describeEnd = (blockers: readonly Blocker[]) =>
  blockers.length === 0
    ? ''
    : ` To end it: ${blockers.map(({ holder }) => statementToEnd(holder)).join('; ')}.`

/** Notes that each turn has all of; the others are about the relations that it looked at. */
const complete: ReadonlySet<Note['code']> = new Set([
  'ExemptNameTaken',
  'ExemptsNothing',
  'LoginRole',
  'MappedRole',
  'OpenSession',
  'ForeignServer',
  'Locked',
  'NotClosed',
])

/** The notes of a state. A look at some tables leaves the notes about the others. */
export function mergeNotes(result: Described, more: readonly Note[], stored: readonly Note[]): Note[] {
  const notes = describeTurn(result)
  const told = new Set(notes.map(nameNote))
  const isKept = (note: Note) =>
    !result.snapshot.isWhole && !complete.has(note.code) && !told.has(nameNote(note))
  return capNotes([...stored.filter(isKept), ...notes, ...more])
}

const nameNote = ({ code, target }: Note) => `${code} ${target}`

/** Masks are not written there, and sessions of the gateway do not go there. */
function noteForeignServer({ host, port }: Place): Note {
  const target = `${host}:${port}`
  const message = [
    `The server ${target} of the binding belongs to another cluster than the others, and is not used.`,
    'Correct the host of the binding; if it is this cluster, made anew, send the binding again.',
  ].join(' ')
  return { code: 'ForeignServer', target, message }
}

/** Notes of one code that are told in full. A masked role can cause thousands, of views for example. */
const mostOfCode = 20

/** Keeps the first notes of each code, and counts the rest in one more: a flood of one kind hides no other. */
export function capNotes(notes: readonly Note[]): Note[] {
  const counts = new Map<Note['code'], number>()
  const kept = notes.filter(({ code }) => {
    const count = (counts.get(code) ?? 0) + 1
    counts.set(code, count)
    return count <= mostOfCode
  })
  const rests = [...counts].map(([code, count]) => ({ code, rest: count - mostOfCode }))
  return [...kept, ...rests.filter(({ rest }) => rest > 0).map(countRest)]
}

function countRest({ code, rest }: { readonly code: Note['code']; readonly rest: number }): Note {
  return { code, target: `${rest} more`, message: `${rest} more notes of this kind are not listed.` }
}
