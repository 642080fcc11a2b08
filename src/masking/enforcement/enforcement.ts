import { Type } from 'typebox'
import type { Leftover } from '../../contracts/leftover.ts'
import type { Query } from '../../db/query.ts'
import { type EnforcementState, enforcementStates, stateReasons } from '../../kernel/enforcement-state.ts'
import { nullableDateTime, nullableString, oneOf } from '../schemas.ts'

export interface EnforcementReport {
  readonly state: EnforcementState
  readonly since: string | null
  /** Why it is not enforced; null when it is. */
  readonly reason: string | null
  /** Warnings for the operator while masks are in place: a renamed column, a rule without one. */
  readonly notes: readonly { readonly code: string; readonly target: string; readonly message: string }[]
  readonly checkedAt: string | null
  readonly enforcedAt: string | null
  readonly driftRepairs: number
  readonly lastDriftAt: string | null
}

const notBound: EnforcementReport = {
  state: 'NotBound',
  since: null,
  reason: stateReasons.NotBound ?? null,
  notes: [],
  checkedAt: null,
  enforcedAt: null,
  driftRepairs: 0,
  lastDriftAt: null,
}

export const stateField = oneOf(enforcementStates)

export const enforcementAnswer = Type.Object(
  {
    state: stateField,
    since: nullableDateTime,
    reason: nullableString,
    notes: Type.Array(Type.Object({ code: Type.String(), target: Type.String(), message: Type.String() })),
    checkedAt: nullableDateTime,
    enforcedAt: nullableDateTime,
    driftRepairs: Type.Integer(),
    lastDriftAt: nullableDateTime,
    plan: Type.Optional(Type.Array(Type.Object({ sql: Type.String(), why: Type.String() }))),
  },
  { title: 'enforcement' },
)

/** The controller that turns rules into masks, as the management API sees it. Asked about bound databases alone. */
export interface Enforcement {
  report(databaseId: string): Promise<EnforcementReport>
  /** After a committed change of rules, policy or binding: enforces it where that is possible in reasonable time. */
  settle(databaseId: string): Promise<EnforcementReport>
  /**
   * Entries of an exempt list, as it is stored: those that name directory objects never exempt a role of that name, and those
   * that come or go are judged as new the next time.
   */
  recordEntries(
    tx: Query,
    databaseId: string,
    entries: { readonly changed: readonly string[]; readonly named: readonly string[] },
  ): Promise<void>
  /** The statements that a reconciliation would run now; none of them is run. */
  /** Everything of ours in the database and on its server. */
  findLeftovers(databaseId: string): Promise<readonly Leftover[]>
  /** After the policy was turned off and the mappings were deleted: what is left of ours. Can be repeated. */
  restore(databaseId: string): Promise<{
    readonly state: EnforcementReport['state']
    readonly reason: string | null
    readonly left: readonly Leftover[]
  }>
}

/** Null: the database was never declared. */
export async function reportOf(
  database: { readonly id: string; readonly bound: boolean } | null,
  enforcement: Pick<Enforcement, 'report'>,
): Promise<EnforcementReport> {
  return database?.bound ? await enforcement.report(database.id) : notBound
}
