import type { Note } from './note.ts'

export interface ColumnPlace {
  readonly schema: string
  readonly table: string
  readonly column: string
}

/** An object of the database, its name as SQL writes it. */
export interface NamedObject {
  readonly kind: string
  readonly name: string
}

/** The side effects of a remedy. */
export interface Consequences {
  /** Roles, applications and objects that notice it. */
  readonly affects: string
  /** How to take it back; null where that is impossible. */
  readonly undo: string | null
  /** It can break an application: read what it affects before. */
  readonly isDangerous: boolean
  /** Something narrower that may do as well; null where there is nothing. */
  readonly alternative: string | null
}

/** A way around a mask that privileges on tables and twins do not close by themselves. */
export interface Exposure {
  readonly code: string
  readonly severity: 'high' | 'medium' | 'low'
  readonly objects: readonly NamedObject[]
  /** The masked roles that can use it. Empty: not tied to roles that the catalog knows. */
  readonly roles: readonly string[]
  readonly explanation: string
  /** SQL that closes it; null where no statement does. */
  readonly remedy: string | null
  /** Of the remedy; null where there is none. */
  readonly consequences: Consequences | null
  /** A rule that closes it, where a mask does. */
  readonly rule: {
    readonly schemaName: string
    readonly tableName: string
    readonly columnName: string
    readonly maskingFunction: 'Default'
  } | null
}

/** A masking function, with the options that suit a column. */
export interface Suggestion {
  readonly maskingFunction: 'CCN' | 'Default' | 'Email' | 'Number' | 'SSN' | 'Text'
  readonly numberFrom?: string
  readonly numberTo?: string
  readonly prefixSize?: string
  readonly suffixSize?: string
  readonly replacementString?: string
}

/** The kind of data that a column most likely holds. */
export interface Judgement {
  readonly kind: string
  readonly confidence: number
  /** In words, and without any value. */
  readonly reasons: readonly string[]
  readonly suggestion: Suggestion
}

export interface Recommendation extends ColumnPlace, Judgement {}

export interface PreviewRequest<Rule> {
  readonly schema: string
  readonly table: string
  /** All that are stored. */
  readonly rules: readonly Rule[]
  /** One that is not stored yet. It takes the place of the stored rule for its column. */
  readonly draft: Rule | undefined
  readonly top: number
  /** With raw values beside the masked ones: for those alone who may see them. */
  readonly raw: boolean
}

export interface Preview {
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly maskingFunction: string | null
    /** Its mask is not stored. */
    readonly isDraft: boolean
  }[]
  /** Values as text, in the order of the columns. */
  readonly rows: readonly {
    readonly values: readonly (string | null)[]
    readonly raw?: readonly (string | null)[]
  }[]
}

/** A session as far as PostgreSQL shows it to the role of the binding; null where it does not. */
export interface LiveSession {
  readonly pid: number
  readonly role: string
  readonly application: string
  readonly address: string | null
  readonly since: string | null
}

export interface RoleImpact {
  readonly role: string
  readonly canLogIn: boolean
  readonly sessions: readonly LiveSession[]
  /** Relations of which it can read raw values now, and could not under the policy. */
  readonly relations: readonly {
    readonly relation: string
    readonly kind: string
    readonly columns: readonly string[]
    /** The view that shows it masked; null: the role is denied. */
    readonly twin: string | null
  }[]
  /**
   * Functions that the role may call and that read such relations, with its own rights or with those of their owner.
   */
  readonly functions: readonly { readonly name: string; readonly runsAsOwner: boolean }[]
}

/** The effects of enforcing a policy on the roles and sessions of a database. */
export interface Impact {
  /** Roles that would lose raw values, those with live sessions first. */
  readonly roles: readonly RoleImpact[]
  readonly ended: readonly (LiveSession & { readonly reason: string })[]
  /** Sessions that may go on reading raw values by a cursor which is open now, each with the statement that ends it. */
  readonly reading: readonly (LiveSession & { readonly statement: string })[]
  /** Relations that masked roles could not read at all. */
  readonly closed: readonly { readonly relation: string; readonly reason: string }[]
  readonly statements: readonly { readonly sql: string; readonly why: string }[]
  readonly notes: readonly Note[]
}

/** A table of a bound database that rules can be for. */
export interface TableEntry {
  readonly schema: string
  readonly table: string
  readonly columns: number
  /** PostgreSQL's own estimate; null before the first analysis. */
  readonly estimatedRows: number | null
}

export interface ColumnEntry {
  readonly column: string
  readonly type: string
  readonly isNullable: boolean
  readonly isKey: boolean
  /** Of the type that a domain is over. */
  readonly baseName: string
  readonly category: string
}

export interface TablesWanted {
  /** A part of `schema.table`, in any case. */
  readonly search: string
  readonly after: { readonly schema: string; readonly table: string }
  readonly limit: number
}

export interface FoundColumn extends ColumnPlace {
  readonly type: string
}

/** A column of a table that stands behind a column of a twin. */
export interface TwinColumn extends ColumnPlace {
  readonly relation: number
  readonly position: number
}

/** What a database role sees of a table. */
export interface RoleSight {
  readonly role: string
  readonly canLogIn: boolean
  /** No mask changes what it sees: it is exempt, a superuser, owns the table or reads all data. */
  readonly keepsRaw: boolean
  /** Those that it reads in the table itself. */
  readonly rawColumns: readonly string[]
  /** Those that it reads in the twin alone. */
  readonly maskedColumns: readonly string[]
}

export interface RolesWanted {
  readonly schema: string
  readonly table: string
  /** A part of the role's name, in any case. */
  readonly search: string
  /** The last role of the page before. */
  readonly after: string | null
  readonly limit: number
}

export interface RolesPage {
  readonly roles: readonly RoleSight[]
  /** The role that the next page goes on behind; null: no more follow. */
  readonly last: string | null
}

/** Looks wait in turn, some of them for minutes. */
export interface Look<Admitted = unknown> {
  readonly databaseId: string
  /**
   * Rejects when the caller may not look any more. It is asked when the look has its place, and once more behind it.
   */
  readonly admit: () => Promise<Admitted>
}
