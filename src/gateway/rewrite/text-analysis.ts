import type { Splice } from '../../sql/splice.ts'
import type { StatementEffect } from '../audit/touch.ts'

/** What a statement changes in the meaning of names for those after it. */
export interface NameChanges {
  readonly path?: readonly string[] | 'initial'
  /** Temporary relations that come before everything else. */
  readonly hides?: string
  readonly uncovers?: string | 'all'
}

/** What is known about a text under one set of masks and one search path. */
export interface TextAnalysis {
  /** In the order of the text; none: it stays as it is. */
  readonly splices: readonly Splice[]
  readonly nameChanges: readonly NameChanges[]
  readonly isParsed: boolean
  /** A twin is read, not a catalog alone. */
  readonly readsTwin: boolean
  /** What its statements touch, those that touch something. */
  readonly effects: readonly StatementEffect[]
}
