import type { Exposure, NamedObject } from '../../contracts/inspection.ts'
import type { Tx } from '../../db/transaction.ts'
import type { RoleBook } from './role-book.ts'

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
  /** It has rules itself, unlike a view over it. */
  readonly hasRules: boolean
}

/** A function or procedure with a body in a language. */
export interface Routine {
  readonly id: number
  /** Without quotes, as the text of another function may have it. */
  readonly bareName: string
  readonly schema: string
  readonly owner: string
  readonly kind: 'function' | 'procedure'
  readonly language: string
  /** Its first part, where it is long; empty for a body in standard SQL, and where all texts together are too long. */
  readonly text: string
  readonly isCut: boolean
  /** PostgreSQL looks names in it up when it runs. */
  readonly isText: boolean
  /** Its own `search_path`. */
  readonly path: string | null
  /** Relations and functions that its body depends on; known for bodies in standard SQL. */
  readonly reads: readonly number[]
  readonly calls: readonly number[]
  readonly signature: string
  /** It runs with the rights of a role that sees raw values. */
  readonly isDefiner: boolean
  /** Of EXECUTE on a definer; null: PUBLIC. */
  readonly grantees: readonly (string | null)[]
  /** A trigger, or an event trigger, calls it. */
  readonly isFired: boolean
}

/** The masked database as every kind of exposure sees it. */
export interface Scene extends RoleBook {
  readonly sql: Tx
  readonly version: number
  readonly masked: readonly MaskedRelation[]
  readonly byOid: ReadonlyMap<number, MaskedRelation>
  readonly oids: readonly number[]
  /** The hidden columns, as two lists for `unnest`. */
  readonly hidden: { readonly oids: readonly number[]; readonly numbers: readonly number[] }
  readonly routines: readonly Routine[]
}

/** Fields of a row that the runner resolves. A row that does not resolve is no exposure. */
export interface Findings {
  /** Of a masked relation: resolved to `relation`. */
  readonly oid?: number
  /** Column numbers of that relation: resolved to `column`, the first hidden one among them. */
  readonly keys?: readonly number[]
  /** Masked roles concerned; a row with an empty list is no exposure. */
  readonly roles?: readonly string[]
}

type Resolved<R> = R &
  (R extends { readonly oid: number } ? { readonly relation: MaskedRelation } : unknown) &
  (R extends { readonly keys: readonly number[] } ? { readonly column: HiddenColumn } : unknown)

export interface Description extends Partial<Pick<Exposure, 'severity' | 'roles' | 'remedy' | 'rule'>> {
  readonly objects: Exposure['objects']
  readonly explanation: readonly string[]
}

/** One kind of exposure: a query, and the words for a row of it. The query runs in a read-only transaction. */
export interface ExposureKind<R extends Findings = Findings> {
  readonly code: string
  readonly severity: Exposure['severity']
  /** One line of docs/exposures.md. */
  readonly meaning: string
  read(scene: Scene): readonly R[] | PromiseLike<readonly R[]>
  describe(row: Resolved<R>, scene: Scene): Description
}

/** Forgets the type of the rows: `read` and `describe` of one kind agree about it, and nothing else sees them. */
export function kind<R extends Findings>(definition: ExposureKind<R>): ExposureKind {
  return definition as unknown as ExposureKind
}
