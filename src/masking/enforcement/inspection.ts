import type { ColumnField, MaskField, RequiredField, RuleProperties } from '../rules/rule-fields.ts'
import type { EnforcementReport } from './enforcement.ts'
import type { ProposedPolicy } from './proposed-policy.ts'

/** A way around the masks of a database that is still open. */
export interface Exposure {
  readonly code: string
  readonly severity: 'high' | 'medium' | 'low'
  readonly objects: readonly { readonly kind: string; readonly name: string }[]
  readonly roles: readonly string[]
  readonly explanation: string
  readonly remedy: string | null
  /** Side effects of the remedy. */
  readonly consequences: {
    readonly affects: string
    readonly undo: string | null
    readonly isDangerous: boolean
    readonly alternative: string | null
  } | null
  readonly rule: Pick<RuleProperties, RequiredField> | null
}

export interface ColumnPlace {
  readonly schema: string
  readonly table: string
  readonly column: string
}

type MaskOptions = Pick<RuleProperties, 'maskingFunction' | MaskField>

export interface Recommendation extends ColumnPlace {
  readonly kind: string
  readonly confidence: number
  readonly reasons: readonly string[]
  readonly suggestion: Partial<MaskOptions> & Pick<MaskOptions, 'maskingFunction'>
}

export type Mask = ColumnPlace & MaskOptions & { readonly name: string }

export interface PreviewRequest {
  readonly schema: string
  readonly table: string
  readonly rules: readonly Mask[]
  readonly draft: Mask | undefined
  readonly top: number
  readonly raw: boolean
}

export interface Preview {
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly maskingFunction: string | null
  }[]
  readonly rows: readonly {
    readonly values: readonly (string | null)[]
    readonly raw?: readonly (string | null)[]
  }[]
}

interface LiveSession {
  readonly pid: number
  readonly role: string
  readonly application: string
  readonly address: string | null
  readonly since: string | null
}

/** The effects of enforcing a policy on the roles and sessions of a database. */
export interface Impact {
  readonly roles: readonly {
    readonly role: string
    readonly canLogIn: boolean
    readonly sessions: readonly LiveSession[]
    readonly relations: readonly {
      readonly relation: string
      readonly kind: string
      readonly columns: readonly string[]
      readonly twin: string | null
    }[]
    readonly functions: readonly { readonly name: string; readonly runsAsOwner: boolean }[]
  }[]
  readonly ended: readonly (LiveSession & { readonly reason: string })[]
  readonly closed: readonly { readonly relation: string; readonly reason: string }[]
  readonly statements: readonly { readonly sql: string; readonly why: string }[]
  readonly notes: EnforcementReport['notes']
}

export const noImpact: Impact = { roles: [], ended: [], closed: [], statements: [], notes: [] }

/** A table of a bound database that rules can be for. */
export interface TableEntry {
  readonly schema: string
  readonly table: string
  readonly columns: number
  readonly estimatedRows: number | null
}

export interface ColumnEntry {
  readonly column: string
  readonly type: string
  readonly isNullable: boolean
  readonly isKey: boolean
  readonly baseName: string
  readonly category: string
}

export interface TablesWanted {
  readonly search: string
  readonly after: { readonly schema: string; readonly table: string }
  readonly limit: number
}

/** What a database role sees of a table. */
export interface RoleSight {
  readonly role: string
  readonly canLogIn: boolean
  readonly keepsRaw: boolean
  readonly rawColumns: readonly string[]
  readonly maskedColumns: readonly string[]
}

export interface RolesWanted {
  readonly schema: string
  readonly table: string
  readonly search: string
  /** The last role of the page before. */
  readonly after: string | null
  readonly limit: number
}

export interface RolesPage {
  readonly roles: readonly RoleSight[]
  /** The role that the next page goes on behind; null: no more follow. */
  readonly last: string | null
}

/** Looks wait in turn, some of them for minutes. */
export interface Look<Admitted = unknown> {
  readonly databaseId: string
  /** Rejects when the caller may not look any more. It is asked when the look has its place, and once more behind it. */
  readonly admit: () => Promise<Admitted>
}

/** Looks into bound databases without changing them. Fails with `BoundDatabaseUnusable` where it cannot look. */
export interface Inspection {
  browseTables(look: Look, wanted: TablesWanted): Promise<readonly TableEntry[]>
  /** None: there is no such table. */
  browseColumns(look: Look, schema: string, table: string): Promise<readonly ColumnEntry[]>
  /** Null: there is no such table. */
  browseRoles(look: Look, wanted: RolesWanted): Promise<RolesPage | null>
  /** Columns of any table by a part of `schema.table.column`, in the order of their names. */
  findColumns(
    look: Look,
    search: string,
    limit: number,
  ): Promise<readonly (ColumnPlace & { readonly type: string })[]>
  /** The columns of tables that stand behind columns of these relations, as far as they are twins. */
  findTwins(
    look: Look,
    relations: readonly number[],
  ): Promise<readonly (ColumnPlace & { readonly relation: number; readonly position: number })[]>
  /** The statements that the next turn would run. */
  plan(look: Look): Promise<readonly { readonly sql: string; readonly why: string }[]>
  findExposures(look: Look): Promise<readonly Exposure[]>
  /** The consequences of a policy that need not be stored. */
  findImpact(look: Look, proposed: ProposedPolicy): Promise<Impact>
  /** Columns that look sensitive, but for those that have a rule. */
  recommend(look: Look, ruled: readonly ColumnPlace[]): Promise<readonly Recommendation[]>
  /** Null: there is no such table, or it is a view. Refused: the draft would show more than the stored rules do. */
  preview(look: Look<PreviewRequest>): Promise<Preview | 'draftRefused' | null>
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
