/** A relation whose reads move, as one role sees it. Names are as they are, never quoted. */
export interface MaskedRelation {
  readonly schema: string
  readonly name: string
  readonly twin: { readonly schema: string; readonly name: string }
  /** The columns that COPY of the table itself would write, in order. */
  readonly columns: readonly string[]
  /** Tables inherit from it: its twin shows their rows too. */
  readonly hasChildren: boolean
  /** Its primary key, if the role may read that; else nothing. */
  readonly key: readonly string[]
  /** Columns that are the same in all rows of one key, and can be grouped by. */
  readonly dependent: readonly string[]
}

/** A masked column that a relation shows. */
export interface WatchedColumn {
  /** The one that has the mask, as SQL writes it: schema.table.column. */
  readonly column: string
  /** The column's name in the relation. */
  readonly attribute: string
  /** The role would see it as it is. */
  readonly isRaw: boolean
  /**
   * It would with a privilege that it lacks, and that can be granted and revoked before the gateway has heard of it.
   */
  readonly mayBecomeRaw?: boolean
}

/** A relation that shows masked columns, as they are or under their masks: reads of it are written down. */
export interface WatchedRelation {
  readonly schema: string
  readonly name: string
  /** All of its columns, in order. */
  readonly attributes: readonly string[]
  /** Its own masked columns. */
  readonly masked: readonly WatchedColumn[]
  /** Those of other relations that it reads, whatever is asked of it. */
  readonly shows: readonly WatchedColumn[]
  /** Those that its rules on INSERT, UPDATE and DELETE read. */
  readonly rules?: readonly WatchedColumn[]
  /** Those that its row policies read. */
  readonly policies?: readonly WatchedColumn[]
  /** Which of the `rows` of the role an error of any write to it may show. */
  readonly fails?: readonly number[]
  /** The same of a write that changes rows that are there, beside its own columns. */
  readonly failsOnChange?: readonly number[]
  /** With a privilege that the role lacks, a read of it shows masked columns that are not in these lists. */
  readonly mayShowMore?: boolean
}

/** A relation that shares its name with a masked one. */
export interface Homonym {
  readonly schema: string
  readonly name: string
  /**
   * False: the role may not use the schema, which then is not on its path, but owns it, or may become a role that may.
   */
  readonly isUsable?: boolean
  /** The schema is named like another role that it may become: `$user` may be this schema. */
  readonly isOfRole?: boolean
}

/** The masks of a database as one role meets them. */
export interface RoleMasks {
  readonly relations: readonly MaskedRelation[]
  /** Of every role, the exempt ones too: nothing moves by it. */
  readonly watched?: readonly WatchedRelation[]
  /** Masked columns that one error shows raw, by the numbers that watched relations have. */
  readonly rows?: readonly (readonly string[])[]
  /** Stands for `watched` and `rows`, which are long: another one as soon as these are. */
  readonly watchedDigest?: string
  /** Every relation that shares its name with a masked one: whose turn it is depends on the search path. */
  readonly homonyms: readonly Homonym[]
  /** They could not be read yet, or no role has the name any more. */
  readonly isUnknown?: boolean
  /** The OID of the role of that name; undefined: nothing is masked for any role. */
  readonly roleOid?: number
  /** Schemas of ours that this role cannot use as a whole: the controller's notes, and with them the twins. */
  readonly hides?: readonly string[]
}
