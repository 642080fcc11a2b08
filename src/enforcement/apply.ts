import { quoteIdentifier } from '../db/quote.ts'
import { sqlstateOf } from '../db/sqlstate.ts'
import type { Tx } from '../db/transaction.ts'
import { sqlstate } from '../kernel/sqlstate.ts'
import type { Note, Step } from './plan.ts'

/** SQLSTATEs that no retry changes: features, values, syntax, names, types, dependencies, limits. */
const isRefusal = /^(0A|22|2B|42|54)/

/** A privilege may be granted later: it is tried again. */
function isRefused(error: unknown): boolean {
  const code = sqlstateOf(error)
  return isRefusal.test(code) && code !== sqlstate.insufficientPrivilege
}

/** Steps that run together: a group with an alternative, or one step. */
type Segment = readonly [Step, ...Step[]]

/** PostgreSQL parses a message as a whole before it runs its first statement. */
const mostBytes = 65_536

/**
 * Carries a plan out in the transaction it is given: all of it or none. Returns notes about steps that PostgreSQL refused
 * and that the plan has an alternative for. Many steps are sent as one message, because round trips and savepoints cost more
 * than most of the statements; where PostgreSQL refuses one, they are run again, group by group.
 */
export async function apply(
  tx: Tx,
  steps: readonly Step[],
  beforeStep?: (at: number) => void | Promise<void>,
): Promise<Note[]> {
  const notes: Note[] = []
  const send = beforeStep ? sendEach(tx, beforeStep) : sendTogether(tx)
  for (const batch of formBatches(listSegments(steps), beforeStep ? 0 : mostBytes))
    if (batch.length === 1 || !(await isTaken(send, batch)))
      for (const segment of batch) await runSegment(tx, send, segment, notes)
  return notes
}

interface Send {
  (steps: readonly Step[]): Promise<void>
  /** Undoes them alone when they fail. */
  alone(steps: readonly Step[]): Promise<void>
}

function sendTogether(tx: Tx): Send {
  const send = async (steps: readonly Step[]) => void (await tx.unsafe(writeMessage(steps)))
  return Object.assign(send, { alone: (steps: readonly Step[]) => tx.attempt(writeMessage(steps)) })
}

function sendEach(tx: Tx, beforeStep: (at: number) => void | Promise<void>): Send {
  let at = 0
  const send = async (steps: readonly Step[]) => {
    for (const step of steps) {
      await beforeStep(at++)
      await tx.unsafe(writeMessage([step]))
    }
  }
  return Object.assign(send, { alone: (steps: readonly Step[]) => tx.savepoint(() => send(steps)) })
}

/** False: PostgreSQL refused a statement that has an alternative, and nothing was done. */
async function isTaken(send: Send, batch: readonly Segment[]): Promise<boolean> {
  const steps = batch.flat()
  try {
    await (batch.some(hasAlternative) ? send.alone(steps) : send(steps))
    return true
  } catch (error) {
    if (!batch.some(hasAlternative) || !isRefused(error)) throw error
    return false
  }
}

async function runSegment(tx: Tx, send: Send, segment: Segment, notes: Note[]): Promise<void> {
  const [{ refusal, otherwise = [], passing = [], orElse, note, writeFor }] = segment
  if (writeFor) return send([await write(tx, segment[0], writeFor)])
  if (!hasAlternative(segment)) return send(segment)
  try {
    await send.alone(segment)
  } catch (error) {
    if (!orElse && (!isRefused(error) || passing.includes(sqlstateOf(error)))) throw error
    const told = orElse ? note : refusal
    for (const steps of listSegments(orElse ? [orElse] : otherwise))
      await runSegment(tx, sendTogether(tx), steps, notes)
    if (told) notes.push(told)
  }
}

/** The role was created in this transaction, so that no other can have the name. */
async function write(
  tx: Tx,
  step: Step,
  { role, write: writeSql }: NonNullable<Step['writeFor']>,
): Promise<Step> {
  const [row] = await tx<{ oid: number }[]>`
    select oid::int8 as oid from pg_catalog.pg_roles where rolname = ${role}`
  if (!row) throw new Error(`the role ${role} was not created`)
  return { ...step, sql: writeSql(row.oid) }
}

function hasAlternative([{ together, orElse }]: Segment): boolean {
  return together !== undefined || orElse !== undefined
}

function listSegments(steps: readonly Step[]): Segment[] {
  const segments: [Step, ...Step[]][] = []
  for (const step of steps) {
    const last = segments.at(-1)
    if (last && step.together !== undefined && last[0].together === step.together) last.push(step)
    else segments.push([step])
  }
  return segments
}

/** A step with an alternative of its own may fail for any reason, so it is sent by itself. */
function* formBatches(segments: readonly Segment[], limit: number): Generator<Segment[]> {
  let batch: Segment[] = []
  let bytes = 0
  for (const segment of segments) {
    const isAlone = segment[0].orElse !== undefined || segment[0].writeFor !== undefined
    const size = segment.reduce((sum, { sql }) => sum + sql.length, 0)
    if (batch.length > 0 && (isAlone || bytes + size > limit)) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(segment)
    bytes += isAlone ? limit : size
  }
  if (batch.length > 0) yield batch
}

function writeMessage(steps: readonly Step[]): string {
  const statements: string[] = []
  let role: string | undefined
  const take = (as: string | undefined) => {
    if (as !== role)
      statements.push(as === undefined ? 'RESET ROLE' : `SET LOCAL ROLE ${quoteIdentifier(as)}`)
    role = as
  }
  for (const { sql, as } of steps) {
    take(as)
    statements.push(sql)
  }
  take(undefined)
  return statements.join(';\n')
}
