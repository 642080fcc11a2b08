import type { Database } from '../../db/database.ts'
import { quoteIdentifier } from '../../db/quote.ts'
import type { Note } from '../plan.ts'
import { endEach, endUnshown, findDue, findUnshown } from './end-open.ts'
import { listSession, type OpenEntry } from './read-open.ts'

export interface StandbyEnding {
  readonly notes: readonly Note[]
  /** What is left on the list. */
  readonly open: readonly OpenEntry[]
}

/**
 * Ends sessions at a standby of roles that lost their exemption: their open cursors go on, and what ends sessions at the primary
 * is not replayed. `isReplayed`: sessions that begin from now on read through masks, so those of now alone stay on the list. Those that
 * PostgreSQL is starting end then: before, a slow server would lose all that start at each turn, whatever their role.
 */
export async function endAtStandby(
  { sql }: Pick<Database, 'sql'>,
  standby: string,
  entries: readonly OpenEntry[],
  isReplayed: boolean,
): Promise<StandbyEnding> {
  const whole = entries.filter(({ pid }) => pid === undefined)
  const unshown = await findUnshown(sql, isReplayed && whole.length > 0)
  const { sessions, roles } = await findDue(sql, entries, () => true)
  const notes = await endEach(sql, sessions, standby)
  const late = await endUnshown(sql, unshown, entries, isReplayed ? roles : new Set(), standby)
  return {
    notes: [...notes, ...late.notes],
    open: [...(isReplayed ? [] : whole), ...sessions.map((one) => listSession(one, standby)), ...late.open],
  }
}

/** A server that could not be asked keeps its entries. */
export function noteUnasked(standby: string, entries: readonly OpenEntry[]): StandbyEnding {
  const names = [...new Set(entries.map(({ name }) => quoteIdentifier(name)))].sort()
  const message = `The standby ${standby} cannot be asked. Sessions there of roles that are no longer exempt may hold raw rows of open cursors: ${names.slice(0, 10).join(', ')}.`
  return { notes: [{ code: 'OpenSession', target: standby, message }], open: entries }
}
