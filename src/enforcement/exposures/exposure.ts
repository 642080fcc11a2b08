import type { Tx } from '../../db/transaction.ts'
import type { Unclosed } from '../plan.ts'
import type { Consequences } from './consequences.ts'
import type { RoleBook } from './role-book.ts'

export type Severity = 'high' | 'medium' | 'low'

/** An object of the database, its name as SQL writes it. */
export interface NamedObject {
  readonly kind: string
  readonly name: string
}

/** A way around a mask that privileges on tables and twins do not close by themselves. */
export interface Exposure {
  readonly code: string
  readonly severity: Severity
  readonly objects: readonly NamedObject[]
  /** The masked roles that can use it. Empty: not tied to roles that the catalog knows. */
  readonly roles: readonly string[]
  readonly explanation: string
  /** SQL that closes it; null where no statement does. */
  readonly remedy: string | null
  /** Of the remedy; null where there is none. */
  readonly consequences: Consequences | null
  /** A rule that closes it, where a mask does. */
  readonly rule: SuggestedRule | null
}

export interface SuggestedRule {
  readonly schemaName: string
  readonly tableName: string
  readonly columnName: string
  readonly maskingFunction: 'Default'
}

/** One entry of an access control list. Grantee null: PUBLIC. */
export interface AclEntry {
  readonly grantee: string | null
  readonly privilege: string
}

/** The grantees of an access control list that are to see masks. */
export interface Grantees {
  /** As a list for a REVOKE. */
  readonly list: string
  readonly privileges: readonly string[]
  /** The masked roles that hold the privilege thereby. */
  readonly roles: readonly string[]
}

export interface HiddenColumn {
  readonly number: number
  readonly name: string
}

/** A relation that is under a mask, and its hidden columns. */
export interface MaskedRelation extends NamedObject {
  readonly oid: number
  readonly bareName: string
  readonly owner: string
  readonly hidden: readonly HiddenColumn[]
  /** All of them. */
  readonly columns: readonly HiddenColumn[]
  /** Its data is its own: a table, a partition, a foreign table, a materialized view. */
  readonly holdsData: boolean
  /** It has rules itself, unlike a view over it. */
  readonly hasRules: boolean
}

/** The masked database as every kind of exposure sees it. */
export interface Scene {
  readonly sql: Tx
  readonly version: number
  /** The role of the binding: it has to be able to see the columns that it masks. */
  readonly self: string
  /** Roles that own twins of tables. */
  readonly twinOwners: readonly string[]
  readonly masked: readonly MaskedRelation[]
  readonly oids: readonly number[]
  /** Oids of the relations that have rules themselves. */
  readonly tables: readonly number[]
  /** Relations with raw values that the role of the binding may not touch, and the grantees that are to see masks. */
  readonly unmanaged: readonly (MaskedRelation & Pick<Unclosed, 'grantees'>)[]
  readonly byOid: ReadonlyMap<number, MaskedRelation>
  readonly book: RoleBook
}

/** Fields of a row that the runner resolves. A row that does not resolve is no exposure. */
export interface Findings {
  /** Of a masked relation: resolved to `relation`. */
  readonly oid?: number
  /** Column numbers of that relation: resolved to `column`, the first hidden one among them. */
  readonly keys?: readonly number[]
  /** An access control list: resolved to `grantees`, those of its grantees that are to see masks. */
  readonly acl?: readonly AclEntry[]
  /** The owner of what the list is about; that of the relation unless given. */
  readonly owner?: string
  /** Masked roles concerned; a row with an empty list is no exposure. */
  readonly roles?: readonly string[]
}

type Resolved<R> = R &
  (R extends { readonly oid: number } ? { readonly relation: MaskedRelation } : unknown) &
  (R extends { readonly keys: readonly number[] } ? { readonly column: HiddenColumn } : unknown) &
  (R extends { readonly acl: readonly AclEntry[] } ? { readonly grantees: Grantees } : unknown)

export type Description = Pick<Exposure, 'objects' | 'explanation'> &
  Partial<Pick<Exposure, 'severity' | 'roles' | 'remedy' | 'rule'>>

/** One kind of exposure: a query, and the words for a row of it. The query runs in a read-only transaction. */
export interface ExposureKind<R extends Findings = Findings> {
  readonly code: string
  readonly severity: Severity
  read(scene: Scene): readonly R[] | PromiseLike<readonly R[]>
  describe(row: Resolved<R>, scene: Scene): Description
}

/** Forgets the type of the rows: `read` and `describe` of one kind agree about it, and nothing else sees them. */
export function kind<R extends Findings>(definition: ExposureKind<R>): ExposureKind {
  return definition as unknown as ExposureKind
}
