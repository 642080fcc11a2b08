import type { EnforcementState } from '../kernel/enforcement-state.ts'
import type { Note } from './note.ts'

export interface EnforcementReport {
  readonly state: EnforcementState
  /** Since when it is in this state. */
  readonly since: string | null
  /** Why it is not enforced; null when it is. */
  readonly reason: string | null
  /** Warnings for the operator while masks are in place: a renamed column, a rule without one. */
  readonly notes: readonly Note[]
  readonly checkedAt: string | null
  readonly enforcedAt: string | null
  readonly driftRepairs: number
  readonly lastDriftAt: string | null
}

export interface BeforeTurn {
  /** The number of the last change that is stored. Null: the database is not bound. */
  readonly lastChange: number | null
  readonly notes: readonly Note[]
  /** The version of the binding. Null: the database is not bound. */
  readonly binding: string | null
}

export interface Enforced {
  readonly notes: readonly Note[]
  readonly drifted: boolean
  readonly auditEveryMs: number
  readonly lastChange: number | null
}

export interface DueDatabase {
  readonly id: string
  /** Of its policy; null: the last turn did not enforce that. */
  readonly lastChange: number | null
}

/** The role that an entry of an exempt list named when a turn first looked at it. Null: there was none. */
export interface EntryRole {
  readonly entry: string
  readonly oid: number | null
}

/**
 * Stores what is not there yet, and returns what is there then: another turn or a write of the policy may have been
 * first.
 */
export type StoreRoles = (place: string, roles: readonly EntryRole[]) => Promise<readonly EntryRole[]>

/** The state of each bound database, in the service's own database, for every node. */
export interface StateStore {
  exemptRolesOf(databaseId: string): StoreRoles
  /** The roles, by OID, that the exempt lists of other bound databases of a server name. */
  readExemptElsewhere(place: string, databaseId: string): Promise<ReadonlySet<number>>
  read(databaseId: string): Promise<EnforcementReport>
  /** Bound databases whose next look is due, put off for the others by so long. */
  takeDue(auditEveryMs: number): Promise<readonly DueDatabase[]>
  /** To be read before anything that a turn enforces. */
  readBeforeTurn(databaseId: string): Promise<BeforeTurn>
  isMaskedPlace(databaseId: string, place: string): Promise<boolean>
  /** The database was looked at, and is as it was. */
  noteChecked(databaseId: string): Promise<void>
  /**
   * Returns the state afterwards; undefined: the database is not bound any more, or a change was stored since
   * `lastChange`.
   */
  writeEnforced(databaseId: string, written: Enforced): Promise<EnforcementReport | undefined>
  /** Without `notes` these stay as they are. */
  writeFailure(
    databaseId: string,
    state: 'Pending' | 'Failed',
    reason: string,
    notes?: readonly Note[] | null,
  ): Promise<void>
  /** Where the masks of the database are; null: it has none. */
  recordPlace(databaseId: string, place: string | null): Promise<void>
  forget(databaseId: string): Promise<void>
}
