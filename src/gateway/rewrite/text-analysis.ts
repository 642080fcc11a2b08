import type { MaskedRelation } from '../../contracts/role-masks.ts'
import type { Rewritten, Splice } from '../../sql/splice.ts'
import type { StatementEffect } from '../audit/touch.ts'

/** How a statement changes the meaning of names for later statements. */
export interface NameChanges {
  readonly path?: readonly string[] | 'initial'
  /** Temporary relations that come before everything else. */
  readonly hides?: string
  readonly uncovers?: string | 'all'
}

/** Why the gateway does not pass a statement on, as the client is told. */
export interface StatementRefusal {
  readonly sqlstate: string
  readonly message: string
  readonly hint: string
}

/** The analysis of a text under one set of masks and one search path. */
export interface TextAnalysis {
  /** In the order of the text; none: it stays as it is. */
  readonly splices: readonly Splice[]
  readonly nameChanges: readonly NameChanges[]
  readonly isParsed: boolean
  /** A twin is read, not a catalog alone. */
  readonly readsTwin: boolean
  /** The relations that are read as their twins show them. */
  readonly masked: readonly MaskedRelation[]
  /** The effects of its statements, of those that have any. */
  readonly effects: readonly StatementEffect[]
  /** The splices then make PostgreSQL refuse the text; the client is told this instead. */
  readonly refusal?: StatementRefusal | undefined
}

/** A text that the server got in another form than the client sent it. */
export interface SentText extends Rewritten {
  readonly refusal?: StatementRefusal | undefined
}

export interface RewrittenText extends SentText {
  /** The findings about the text, or about all texts that differ from it in their literals alone. */
  readonly analysis: TextAnalysis
}
