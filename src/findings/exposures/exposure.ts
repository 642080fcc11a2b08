import type { Exposure } from '../../contracts/inspection.ts'
import type { HiddenColumn, MaskedRelation, Scene } from './scene.ts'

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
