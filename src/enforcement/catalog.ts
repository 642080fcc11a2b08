import type { Stamp } from './stamp.ts'
import type { Departure } from './twins/read-departure.ts'
import type { EmptiedTwin } from './twins/read-emptied.ts'
import type { Stranger } from './twins/select-strangers.ts'
import type { UnreadView, ViewSource } from './view-facts.ts'

/** The part of a database's catalog that the controller reads. Names are never quoted. */
export interface Column {
  readonly number: number
  readonly name: string
  /** As declared, with its modifier: `character varying(20)`, `public.email`. */
  readonly type: string
  /** The same with domains taken away: what a client sees. */
  readonly baseType: string
  /** pg_type.typname of the base type, without modifier: `varchar`, `int4`. Empty for one that is not built in, citext apart. */
  readonly baseName: string
  /** pg_type.typtype of the base type: b(ase), c(omposite), e(num), r(ange), m(ultirange), p(seudo). */
  readonly baseKind: string
  readonly isArray: boolean
  /** The domain that it is of, where that checks its values; null: there is none. */
  readonly checkedDomain: number | null
  /** A constant that the domain accepts; null: none is known. */
  readonly legal: string | null
  /** atttypmod, or the domain's. -1: none. */
  readonly modifier: number
  /** Quoted and qualified; null where the type has no collation. */
  readonly collation: string | null
  readonly firstLabel: string | null
  /** Of a generated column: the columns that it is computed from, by number. */
  readonly computedFrom: readonly number[]
  readonly acl: readonly Grant[]
}

/** One SELECT privilege of an access control list. Grantee null: PUBLIC. */
export interface Grant {
  readonly grantor: string
  readonly grantee: string | null
  readonly grantable: boolean
  /**
   * In a record: what the last turn left of it at the relation. True: itself. False: nothing. A number, of SELECT on the whole relation:
   * SELECT on the open columns up to this one. Undefined: the record is of an earlier release.
   */
  readonly left?: boolean | number
}

/** A privilege other than SELECT that leads to values: TRIGGER, REFERENCES or MAINTAIN. */
export interface Right extends Grant {
  readonly privilege: string
  /** Null: on the whole relation. */
  readonly column: number | null
  /** Given to an exempt role by us, because it had the right through a masked one. */
  readonly lent?: true
  /** The grantee also had a privilege by the same grantor that masking leaves a trace of, so that a revoke of everything is seen. */
  readonly traced?: true
}

export type RelationKind = 'table' | 'view' | 'materialized view' | 'foreign table'

export interface Relation {
  readonly oid: number
  readonly schema: string
  readonly name: string
  readonly kind: RelationKind
  readonly owner: string
  readonly columns: readonly Column[]
  /** SELECT on the whole relation, without the owner's own. */
  readonly grants: readonly Grant[]
  /** Without the owner's own. */
  readonly rights: readonly Right[]
  /** Of privileges that masking does not touch, on the relation or a column: grantees, each with its grantor. */
  readonly writers: readonly Pick<Grant, 'grantor' | 'grantee'>[]
  readonly rowSecurity: boolean
  /** pg_get_viewdef under an empty search path; null for tables. */
  readonly definition: string | null
  /** A hash of the definition as parsed; null where it uses relations alone (`hashParsed`). */
  readonly parsed: string | null
  readonly securityBarrier: boolean
  /** It reads with the privileges of its reader, not with its owner's. */
  readonly securityInvoker: boolean
  /** How the role of the binding acts as the owner: as itself, by taking on the role, or not at all. */
  readonly managed: 'directly' | 'as owner' | 'not'
  /** The role of the binding may take on that of the owner. */
  readonly settable: boolean
  /** Restrictive row policies for certain roles: the owner of the twins is none of them. */
  readonly restrictions: readonly {
    readonly roles: readonly number[]
    readonly condition: string
    /** As of the definition of a view. */
    readonly parsed: string | null
  }[]
  /** Permissive row policies for certain roles: through a twin they show nothing. */
  readonly hasRolePolicies: boolean
  /** Tables of other owners that its row policies read: their owners would read by the rights of its twin. */
  readonly strangers: readonly Stranger[]
  /**
   * The reason for which its definition is unknown: another session holds a lock on it or on a table that it reads,
   * PostgreSQL cannot print it in time, or it was not asked for. Null: it is known.
   */
  readonly obstacle: 'locked' | 'unreadable' | 'not asked for' | null
  /** False: a materialized view without rows, since it was created or refreshed so. */
  readonly isPopulated: boolean
  /** Relations that a view reads, by oid. */
  readonly reads: readonly number[]
  /** Inheritance parents and partitioned tables that it is part of, by oid. */
  readonly parents: readonly number[]
  readonly stamp: Stamp
}

export interface Role {
  readonly oid: number
  readonly name: string
  readonly superuser: boolean
  /** Words of ALTER ROLE that leave it nothing but ownership: `NOLOGIN`, `NOBYPASSRLS` … */
  readonly excess: readonly string[]
  /** Roles that it is a direct member of, with or without inheriting from them. */
  readonly memberOf: readonly string[]
  /** Roles that it may grant, to itself too. */
  readonly administers: readonly string[]
}

/** The grants of a relation without those that the controller made. */
export interface Remembered {
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
  readonly rights: readonly Right[]
}

/** The record of the controller about a relation, from when it last masked it. */
export interface Guard {
  readonly oid: number
  /** SELECT grants that were there before masking, or were added by hand since: restored when masking ends. */
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
  readonly rights: readonly Right[]
  readonly pins: readonly Pin[]
  /** Exempt roles that got a grant of their own, because they had the privilege through a role that is not exempt. */
  readonly lent: readonly string[]
  /** No column was left for those who are not exempt, so the relation itself shows no trace of their grants. */
  readonly hidesAll: boolean
  readonly twin: Twin | null
  /** The order of its grants before masking; null: the record is of an earlier release. */
  readonly order: AclOrder | null
}

/** The entries of the lists of a relation (place 0) and of its columns, in the order that GRANTs have in a dump. */
export type AclOrder = readonly (readonly [place: number, grantor: number, grantee: number])[]

/** A rule holds on to the attribute it found: neither a rename nor a detached partition takes the mask off. */
export interface Pin {
  readonly rule: string
  readonly schema: string
  readonly table: string
  readonly column: string
  /** Zero: it is a materialized view, and may hold rows that were read from what the rule masks (`listCopied`). */
  readonly number: number
  /** Of number 0: the column that the rule masks. It may get another name, and another rule. */
  readonly source?: { readonly oid: number; readonly number: number }
  /** Of number 0: what it reads now does not lead to that column. */
  readonly isCut?: true
  /** It is a generated column that is computed from the one of the rule, or the same column of a parent, partition or child. */
  readonly computed?: true
}

export interface ColumnGrant extends Grant {
  readonly column: number
}

export interface Twin {
  readonly schema: string
  readonly name: string
  /** The definition that we asked for, to see whether the policy changed it. */
  readonly wanted: string
  /** The definition that PostgreSQL stored, to see whether a role has changed it. Null: PostgreSQL refused ours. */
  readonly made: string | null
  /** `DesiredTwin.source` as of then. Undefined: a node of an earlier release made it, which ignores this and `parsed`. */
  readonly source?: string | null
  /** A hash of what was made as parsed, as of the definition of a view. */
  readonly parsed?: string | null
  /** A hash of its rule as stored and of the names of its columns (`hashRule`). */
  readonly rule?: string | null
  /** It could not be changed, because a session used it, so every role lost it until it can. */
  readonly isClosed?: boolean
}

export interface ObservedTwin {
  readonly schema: string
  readonly name: string
  readonly owner: string
  /** How the role of the binding acts as its owner, which it takes on where it may. */
  readonly managed: Relation['managed']
  /** Null: unknown, as of a relation with an obstacle. */
  readonly definition: string | null
  /** As of the definition of a view. */
  readonly parsed: string | null
  /** Relations that it reads, by oid. */
  readonly reads: readonly number[]
  readonly securityBarrier: boolean
  readonly securityInvoker: boolean
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly (Grant & { readonly column: string })[]
  /** By the place of the column, from 1: a view has no dropped columns. */
  readonly comments: Readonly<Record<string, string | null>>
}

/** A view in a schema of twins that may have to be closed, as the plan makes or keeps it for no relation. */
export interface StrayTwin extends ObservedTwin {
  readonly oid: number
  /** The relation whose record names it, by oid; null: none does. */
  readonly recordedFor: number | null
  /** Roles other than its owner that have a privilege on it or on a column. Null: PUBLIC. */
  readonly grantees: readonly (string | null)[]
  /** The role of the binding may take on that of its owner. */
  readonly isSettable: boolean
}

export interface Closed {
  readonly name: string
  readonly relations: readonly number[]
}

/** A role that can act as an owner of twins, or let other roles do so: it could read the tables behind the twins. */
export interface Intruder {
  readonly member: string
  readonly grantor: string
  /** False: it may only pass the role on, to itself too. */
  readonly mayAct: boolean
}

/** A role that is named like an owner of twins, of whatever database. */
export interface NamedRole {
  readonly oid: number
  readonly name: string
  /** The role of the binding may make other roles members of it. */
  readonly isAdministered: boolean
  readonly members: readonly Intruder[]
  /** A superuser or the role of the binding made either of these a member of it. They may have done so under another name. */
  readonly isJoined: boolean
  /** Null: it has none, or a longer one than any mark. */
  readonly comment: string | null
  /** Owners of what its own views read in this database: no other role can add to these. Null: not asked for. */
  readonly reads: readonly string[] | null
}

/** The same, judged. */
export interface TwinRole extends NamedRole {
  /** It owns twins of recorded tables, or the schemas of these. */
  readonly isKeeper: boolean
  /** It owns no function in this database, and no relation outside the schemas of twins. Asked of keepers and prepared roles without a mark. */
  readonly isBare: boolean
  /** The controller created it: another role cannot have made it, nor renamed one of its own. */
  readonly isOurs: boolean
  /** The comment to write on it; null: it has that. */
  readonly mark: string | null
}

/** The schema with the records of the controller. */
export interface GuardState {
  /** Its name; the one to create it under where it is not there. */
  readonly schema: string
  readonly isThere: boolean
  /** It has the columns and the mark of this release, and refuses what other roles write. */
  readonly isCurrent: boolean
  /** The comment to write on it; null: it is left as it is. */
  readonly mark: string | null
}

/** A database as it is at one moment. */
export interface Snapshot {
  readonly version: number
  readonly database: string
  readonly relations: readonly Relation[]
  readonly guards: readonly Guard[]
  readonly twins: readonly ObservedTwin[]
  /**
   * Views in schemas of twins that no record names, or that read relations in view other than the one whose twin they are; and
   * those that have the name of a relation in view.
   */
  readonly strays: readonly StrayTwin[]
  /** What is left of twins for objects of others. Read with everything alone. */
  readonly emptied: readonly EmptiedTwin[]
  readonly roles: ReadonlyMap<string, Role>
  /** Schemas that are named like ours, each with its owner. */
  readonly shadowSchemas: ReadonlyMap<string, string>
  /** Roles that may create in these schemas, by schema; PUBLIC as `public`. */
  readonly shadowMakers: ReadonlyMap<string, readonly string[]>
  /** Schemas that an owner of twins may not use yet, each with the relations that need it. */
  readonly closedSchemas: readonly (Closed & { readonly oid: number })[]
  /** Types that an owner of twins may not use yet, quoted. */
  readonly closedTypes: readonly Closed[]
  /** Relations whose twins can neither be compared nor changed now, as another session holds a lock, or none was asked for. */
  readonly held: ReadonlySet<number>
  /** Views whose turn may come another time. Read where relations are changed one by one alone. */
  readonly deferred: ReadonlySet<number>
  /** False: of what is masked, only what hangs together with some tables was read. */
  readonly isWhole: boolean
  /** Views of which nothing else was read: they may wait, and are too wide or too many. */
  readonly unreadViews: readonly UnreadView[]
  /** Of views and materialized views that the role of the binding may not manage, and of those under them. */
  readonly viewSources: ReadonlyMap<number, ViewSource>
  /** Roles whose new tables and views come with privileges for others. */
  readonly generous: ReadonlySet<string>
  /** The role that owns the schemas of the twins, or is to own them; and the twins of what the binding or a superuser owns. */
  readonly twinOwner: string
  /** Roles that are named like owners of twins, of whatever database. */
  readonly twinRoles: readonly TwinRole[]
  /** The comment that marks an owner of twins as ours, by the OID of the role. */
  readonly writeTwinMark: (oid: number) => string
  /** The role of the binding. */
  readonly user: string
  readonly guard: GuardState
  /** Roles that may use the schema of the guard; `isWhole`: and read all of its tables. */
  readonly guardReaders: readonly { readonly role: string; readonly isWhole: boolean }[]
  /** Exempt roles that own something here or were granted something, apart from the guard. */
  readonly exemptGrantees: readonly string[]
  /**
   * Owners in the record, also of what is out of view. `relations`: their tables; `isRead`: an owner of twins reads for one;
   * `twinOwners`: the roles that own the recorded twins.
   */
  readonly guardedOwners: readonly {
    readonly owner: string
    readonly relations: number
    readonly isRead: boolean
    readonly twinOwners: readonly string[]
  }[]
  /** Owners of twins that are to go; null: none is. */
  readonly departure: Departure | null
  /** Roles that were exempt when the policy was last applied. */
  readonly exempt: readonly string[]
  /** Their OIDs then. Null: an earlier release recorded none. */
  readonly exemptOids: readonly number[] | null
  /** OIDs of the roles that could then grant themselves an exempt one. */
  readonly adminOids: readonly number[]
  readonly superuser: boolean
  readonly createsRoles: boolean
  /** Changes of the catalog notify us. */
  readonly watched: boolean
}
