import type { Note } from '../../contracts/note.ts'
import type { Finding, Preflight } from '../../contracts/preflight.ts'
import type { Place } from '../../db/database-url.ts'
import type { Sql } from '../../db/sql.ts'
import type { Blocker } from '../../sessions/in-the-way.ts'
import type { Policy, Target } from '../policy.ts'
import type { TurnResult } from '../turn.ts'

/** Says what is wrong with a database and with a turn in it, and what puts it right. */
export interface FindingsPort {
  checkVersion(versionNumber: number): readonly Finding[]
  examine(sql: Sql, tables: readonly Target[]): Promise<Preflight>
  /** `blockers`: sessions in the way of everything; null: nothing was in the way. */
  explainTurn(error: unknown, blockers: readonly Blocker[] | null, look: Look): Promise<Failed>
  judgeTurn(turn: JudgedTurn, look: Look): Promise<Judged>
}

export interface Failed {
  readonly state: 'Pending' | 'Failed'
  readonly reason: string
}

export interface Judged {
  /** Null: the policy is enforced, apart from what the notes say. */
  readonly state: Failed['state'] | null
  readonly reason: string
  readonly notes: readonly Note[]
}

/** A turn that came to its end. */
export interface JudgedTurn {
  readonly result: TurnResult
  readonly blockers: readonly Blocker[]
  /** What the turn itself does not know of. */
  readonly notes: readonly Note[]
  /** Why the change is not in force yet although this turn did its part; empty: it is. */
  readonly waits: readonly string[]
  /** Servers of other clusters. */
  readonly strangers: readonly Place[]
  /** The notes of the state before. */
  readonly stored: readonly Note[]
}

/** For a look at the database. */
export interface Look {
  readonly open: () => Promise<{ readonly sql: Sql; readonly policy: Policy } | null>
}
