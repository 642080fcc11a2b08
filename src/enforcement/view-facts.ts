/** A view of which nothing else was read. */
export interface UnreadView {
  readonly oid: number
  /** With its schema, quoted. */
  readonly name: string
  readonly reads: readonly number[]
  /** Views over it may show raw values: it reads with the rights of its reader, or holds rows from before. */
  readonly isPassing: boolean
}

/** The columns that a view or materialized view reads itself. */
export interface ViewSource {
  readonly columns: readonly { readonly oid: number; readonly number: number }[]
  /** Relations, by oid, of which it reads rows as a whole. */
  readonly rows: readonly number[]
  /** It reads rows as a whole that may be of any of them, or is too large to be looked at. */
  readonly isWhole: boolean
  /** False: a materialized view without data. */
  readonly isFilled: boolean
}
