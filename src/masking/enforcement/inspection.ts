import type { MaskingFunction } from '../rules/rule.ts'

/** A way around the masks of a database that is still open. */
export interface Exposure {
  readonly code: string
  readonly severity: 'high' | 'medium' | 'low'
  readonly objects: readonly { readonly kind: string; readonly name: string }[]
  readonly roles: readonly string[]
  readonly explanation: string
  readonly remedy: string | null
  readonly rule: {
    readonly schemaName: string
    readonly tableName: string
    readonly columnName: string
    readonly maskingFunction: MaskingFunction
  } | null
}

/** Looks into bound databases without changing them. Fails with `BoundDatabaseUnusable` where it cannot look. */
export interface Inspection {
  findExposures(databaseId: string): Promise<readonly Exposure[]>
}
