import { Type } from 'typebox'
import type { EnforcementReport } from '../../contracts/enforcement.ts'
import type { Leftover } from '../../contracts/leftover.ts'
import { enforcementStates, stateReasons } from '../../kernel/enforcement-state.ts'
import { nullableDateTime, nullableString, oneOf } from '../schemas.ts'

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
