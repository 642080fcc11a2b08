import type { Note } from '../contracts/note.ts'
import type { Sql } from '../db/sql.ts'
import type { Oid, Snapshot, Statement } from './model.ts'
import type { Unfinished } from './plan/model.ts'
import type { Plan } from './plan/plan.ts'
import type { Policy, Target } from './policy.ts'
import type { Claimant } from './read/claim.ts'

export interface TurnOptions {
  /** Tables to look at, by the version of the records; undefined: everything. */
  readonly focus?: (policy: Policy, version: string) => readonly Target[] | undefined
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean
  /** The resource that the masks are to belong to. Those of another resource are left alone. */
  readonly claimant?: Claimant
  /** True: the service has masked the database of this place. */
  readonly isMasked?: (place: string) => Promise<boolean>
  /** Runs when everything is closed and before anything is opened, where both do not happen at once. */
  readonly onClosed?: (guardSchema: string) => Promise<unknown>
  /** Runs where everything was closed but what is unfinished, and nothing could be opened. */
  readonly onUnopened?: (closed: TurnResult) => Promise<unknown>
  /** Relations that wait to be closed for too long: sessions in the way are ended meanwhile. */
  readonly overdue?: () => ReadonlySet<Oid>
  /** For tests that stop the service between two statements. */
  readonly beforeStep?: (at: number) => void | Promise<void>
}

export interface TurnResult {
  readonly policy: Policy
  /** The statements that were run, or would be. */
  readonly steps: readonly Statement[]
  readonly notes: readonly Note[]
  readonly unfinished: readonly Unfinished[]
  readonly snapshot: Snapshot
  readonly plan: Plan
  /** The version of the records afterwards. Empty: there are none. */
  readonly version: string
  /** The records list sessions that are to end. */
  readonly hasOpen: boolean
}

/** Read by the connection of the turn: others of the pool may not come free. */
export type PolicySource = Policy | ((sql: Sql) => Promise<Policy>)
