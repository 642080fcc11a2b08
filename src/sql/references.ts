import type { Effort } from './effort.ts'
import type { RangeVar } from './syntax-tree.ts'

/**
 * How a statement uses a relation. UPDATE, DELETE and MERGE change their `target`; `like` takes its columns alone; a new table inherits
 * from its `parent`, or is a partition of it.
 * `other` is the use by a statement that is not known in detail: it may do anything.
 */
export type RelationUse =
  | 'read'
  | 'insert'
  | 'target'
  | 'truncate'
  | 'copyTo'
  | 'copyFrom'
  | 'lockToRead'
  | 'lock'
  | 'like'
  | 'create'
  | 'parent'
  | 'other'

/** A relation that a statement names; names of WITH are none. */
export interface RelationReference {
  readonly range: RangeVar
  /** Where the name begins, in bytes of UTF-8, and how many parts it has. */
  readonly at: number
  readonly parts: number
  readonly use: RelationUse
  /** Its rows are locked or sampled, as those of a view cannot be. */
  readonly needsTable: boolean
  /** A query in parentheses may stand here instead. */
  readonly takesQuery: boolean
  /** The list of columns of a COPY. */
  readonly columns?: readonly string[] | undefined
}

/** A column of a relation; without a name, all of them. */
export interface ColumnOrigin {
  readonly relation: RelationReference
  readonly column?: string | undefined
}

/** A column of the result of a query. Without a name, all of them. */
export interface QueryOrigin {
  readonly query: Query
  readonly column?: string | undefined
  /** Names that an alias gives to its first columns. */
  readonly renamed: readonly string[]
}

export type Origin = ColumnOrigin | QueryOrigin

/** One item of a list: a column of a result, or what is assigned to a column of a table. */
export interface Value {
  /** Undefined: it is not known what PostgreSQL calls it. */
  readonly name: string | undefined
  /** `*`: it stands for any number of columns. */
  readonly isStar: boolean
  /** Everything that it is made of. */
  readonly from: Origin[]
  /** The relation or row whose columns the star stands for. */
  sources?: readonly { find(column: string): readonly Origin[] | undefined }[] | undefined
}

/** The results of its SELECTs, of which set operations make one. */
export interface Query {
  readonly parts: readonly (readonly Value[])[]
}

/** A column, or all of something, as an expression names it. */
export interface ColumnReference {
  /** Without the star. */
  readonly path: readonly string[]
  readonly isStar: boolean
  readonly at: number
  /** Relations that stand in FROM under the qualifier of the name, at the nearest level that has one. */
  readonly qualified: readonly RelationReference[]
  /** Every column that it may mean. */
  readonly origins: readonly Origin[]
}

/** Columns that a statement assigns; without a list, all of them. */
export interface Write {
  readonly relation: RelationReference
  readonly columns?: readonly string[] | undefined
  /** Rows that are there already change. */
  readonly changes?: boolean
}

/** A value that a statement stores: in one column, or the columns of a query in order. */
export interface Assignment {
  readonly relation: RelationReference
  /** Undefined: the columns of the table in their order. */
  readonly columns?: readonly string[] | undefined
  readonly stored: Value | Query
}

/** A query that groups by plain columns alone. */
export interface Grouping {
  readonly keys: readonly ColumnReference[]
  /** Relations in its FROM whose columns go by their own names. */
  readonly relations: readonly RelationReference[]
  /** Columns that it names outside of FROM, WHERE and GROUP BY, also in subqueries. */
  readonly uses: readonly ColumnReference[]
}

/** The type of a column, cast or function: rows of a relation have a type of its name. */
export interface TypeReference {
  readonly path: readonly string[]
  readonly at: number
}

/** Everything that one statement refers to. Where a name may mean several things, all of them are in it. */
export interface References {
  readonly relations: readonly RelationReference[]
  readonly columns: readonly ColumnReference[]
  /** Columns whose values are looked at. */
  readonly reads: readonly ColumnOrigin[]
  readonly writes: readonly Write[]
  readonly assignments: readonly Assignment[]
  readonly groupings: readonly Grouping[]
  readonly types: readonly TypeReference[]
  /** Functions, operators with a schema, and fields and columns that may be functions. */
  readonly calls: readonly (readonly string[])[]
  /** Names of prepared statements that it runs. */
  readonly executes: readonly string[]
  /** It has code in a string: DO, or the body of a function; or it makes an operator or aggregate of a function. */
  readonly hasHiddenCode: boolean
  /** Of the whole text: what looks at the references goes on counting. */
  readonly effort: Effort
}

/** Facts about relations that the text does not tell. */
export interface Catalog {
  /** The schema that a name without one leads to, and the columns in order; undefined where they are not known. */
  locate(range: RangeVar): {
    readonly schema?: string | undefined
    readonly columns?: readonly string[] | undefined
    /** The name may mean another relation, with other columns. */
    readonly mayLackColumns?: boolean
  }
}
