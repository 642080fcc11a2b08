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
  readonly acl: readonly Grant[]
}

/** One SELECT privilege of an access control list. Grantee null: PUBLIC. */
export interface Grant {
  readonly grantor: string
  readonly grantee: string | null
  readonly grantable: boolean
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
  readonly rowSecurity: boolean
  /** pg_get_viewdef under an empty search path; null for tables. */
  readonly definition: string | null
  readonly securityBarrier: boolean
  /** It reads with the privileges of its reader, not with its owner's. */
  readonly securityInvoker: boolean
  /** How the role of the binding acts as the owner: as itself, by taking on the role, or not at all. */
  readonly managed: 'directly' | 'as owner' | 'not'
  /** The role of the binding may take on that of the owner. */
  readonly settable: boolean
  /** Restrictive row policies for certain roles: the owner of the twins is none of them. */
  readonly restrictions: readonly { readonly roles: readonly number[]; readonly condition: string }[]
  /** Permissive row policies for certain roles: through a twin they show nothing. */
  readonly hasRolePolicies: boolean
  /** Relations that a view reads, by oid. */
  readonly reads: readonly number[]
  /** Inheritance parents and partitioned tables that it is part of, by oid. */
  readonly parents: readonly number[]
}

export interface Role {
  readonly oid: number
  readonly name: string
  readonly superuser: boolean
  /** Words of ALTER ROLE that leave it nothing but ownership: `NOLOGIN`, `NOBYPASSRLS` … */
  readonly excess: readonly string[]
  /** Roles that it is a direct member of, with or without inheriting from them. */
  readonly memberOf: readonly string[]
}

/** The record of the controller about a relation, from when it last masked it. */
export interface Guard {
  readonly oid: number
  /** SELECT grants that were there before masking, or were added by hand since: restored when masking ends. */
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly ColumnGrant[]
  readonly pins: readonly Pin[]
  /** Exempt roles that got a grant of their own, because they had the privilege through a role that is not exempt. */
  readonly lent: readonly string[]
  /** No column was left for those who are not exempt, so the relation itself shows no trace of their grants. */
  readonly hidesAll: boolean
  readonly twin: Twin | null
}

/** A rule holds on to the attribute it found: neither a rename nor a detached partition takes the mask off. */
export interface Pin {
  readonly rule: string
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly number: number
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
  /** It could not be changed, because a session used it, so every role lost it until it can. */
  readonly isClosed?: boolean
}

export interface ObservedTwin {
  readonly schema: string
  readonly name: string
  readonly owner: string
  readonly definition: string
  readonly securityBarrier: boolean
  readonly securityInvoker: boolean
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly grants: readonly Grant[]
  readonly columnGrants: readonly (Grant & { readonly column: string })[]
}

/** A database as it is at one moment. */
export interface Snapshot {
  readonly version: number
  readonly database: string
  readonly relations: readonly Relation[]
  readonly guards: readonly Guard[]
  readonly twins: readonly ObservedTwin[]
  readonly roles: ReadonlyMap<string, Role>
  /** Schemas that are named like ours, each with its owner. */
  readonly shadowSchemas: ReadonlyMap<string, string>
  /** Schemas of the relations that the owner of the twins may not look into yet. */
  readonly closedSchemas: ReadonlySet<string>
  /** Types that the owner of the twins may not use yet, quoted. */
  readonly closedTypes: readonly string[]
  /** Roles whose new tables and views come with privileges for others. */
  readonly generous: ReadonlySet<string>
  /** Members of the owner of the twins other than the role of the binding. */
  readonly intruders: readonly { readonly member: string; readonly grantor: string }[]
  /** The role of the binding. */
  readonly user: string
  /** The guard tables are there. */
  readonly guarded: boolean
  /** Roles that were exempt when the policy was last applied. */
  readonly exempt: readonly string[]
  readonly superuser: boolean
  /** Changes of the catalog notify us. */
  readonly watched: boolean
}
