import type { Sql } from '../../db/sql.ts'
import type { RoleBook } from './role-book.ts'

export type Severity = 'high' | 'medium' | 'low'

/** Something in a database, its name as SQL would write it. */
export interface NamedObject {
  readonly kind: string
  readonly name: string
}

/** A way around a mask that privileges on tables and twins do not close by themselves. */
export interface Exposure {
  readonly code: string
  readonly severity: Severity
  readonly objects: readonly NamedObject[]
  /** Who can go this way. Empty: not tied to roles that the catalog knows. */
  readonly roles: readonly string[]
  readonly explanation: string
  /** SQL that closes it; null where no statement does. */
  readonly remedy: string | null
  /** A rule that closes it, where a mask does. */
  readonly rule: SuggestedRule | null
}

export interface SuggestedRule {
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
  readonly maskingFunction: 'Default'
}

export interface HiddenColumn {
  readonly number: number
  readonly name: string
}

/** A relation that is under a mask, and what of it is hidden. */
export interface MaskedRelation {
  readonly oid: number
  readonly kind: string
  readonly name: string
  readonly bareName: string
  readonly owner: string
  readonly hidden: readonly HiddenColumn[]
  /** Its data is its own: a table, a partition, a foreign table, a materialized view. */
  readonly holdsData: boolean
  /** It has rules itself, unlike a view over it. */
  readonly hasRules: boolean
}

/** What every class of exposure looks at. */
export interface Scene {
  readonly sql: Sql
  readonly version: number
  /** The role of the binding: it has to be able to see what it masks. */
  readonly self: string
  readonly twinOwner: string
  readonly masked: readonly MaskedRelation[]
  /** Tables that rules name and that the role of the binding may not touch: they are not masked at all. */
  readonly unmanaged: readonly MaskedRelation[]
  readonly byOid: ReadonlyMap<number, MaskedRelation>
  readonly book: RoleBook
}

/** One class of exposures: how to find them, in a read-only transaction. */
export interface ExposureClass {
  readonly code: string
  find(scene: Scene): Promise<Exposure[]> | Exposure[]
}
