import type {
  ColumnEntry,
  ColumnPlace,
  Exposure,
  FoundColumn,
  Impact,
  Look,
  Preview,
  PreviewRequest,
  Recommendation,
  RolesPage,
  RolesWanted,
  TableEntry,
  TablesWanted,
  TwinColumn,
} from '../../contracts/inspection.ts'
import type { Verdict } from '../../contracts/verdict.ts'
import type { ColumnField, MaskField, RuleProperties } from '../rules/rule-fields.ts'
import type { ProposedPolicy } from './proposed-policy.ts'

export type Mask = ColumnPlace &
  Pick<RuleProperties, 'maskingFunction' | MaskField> & { readonly name: string }

export const noImpact: Impact = { roles: [], ended: [], reading: [], closed: [], statements: [], notes: [] }

/** Looks into bound databases without changing them. Fails with `BoundDatabaseUnusable` where it cannot look. */
export interface Inspection {
  browseTables(look: Look, wanted: TablesWanted): Promise<readonly TableEntry[]>
  /** None: there is no such table. */
  browseColumns(look: Look, schema: string, table: string): Promise<readonly ColumnEntry[]>
  /** Null: there is no such table. */
  browseRoles(look: Look, wanted: RolesWanted): Promise<RolesPage | null>
  /** Columns of any table by a part of `schema.table.column`, in the order of their names. */
  findColumns(look: Look, search: string, limit: number): Promise<readonly FoundColumn[]>
  /** The columns of tables that stand behind columns of these relations, as far as they are twins. */
  findTwins(look: Look, relations: readonly number[]): Promise<readonly TwinColumn[]>
  /** The statements that the next turn would run. */
  plan(look: Look): Promise<readonly { readonly sql: string; readonly why: string }[]>
  findExposures(look: Look): Promise<readonly Exposure[]>
  /** Every role that the policy, or a proposed one, does not exempt, those that can log in first. */
  findVerdicts(look: Look, proposed?: ProposedPolicy): Promise<readonly Verdict[]>
  /** The consequences of a policy that need not be stored. */
  findImpact(look: Look, proposed: ProposedPolicy): Promise<Impact>
  /** Columns that look sensitive, but for those that have a rule. */
  recommend(look: Look, ruled: readonly ColumnPlace[]): Promise<readonly Recommendation[]>
  /** Null: there is no such table, or it is a view. Refused: the draft would show more than the stored rules do. */
  preview(look: Look<PreviewRequest<Mask>>): Promise<Preview | 'draftRefused' | null>
}

export function lookInto<Admitted>(
  { id: databaseId }: { readonly id: string },
  admit: () => Promise<Admitted>,
): Look<Admitted> {
  return { databaseId, admit }
}

export function asColumnPlace(rule: Pick<RuleProperties, ColumnField>): ColumnPlace {
  return { schema: rule.schemaName, table: rule.tableName, column: rule.columnName }
}
