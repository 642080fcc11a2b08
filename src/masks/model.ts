import type { OpenEntry } from '../sessions/open-sessions.ts'
import type { Rule } from './policy.ts'

/** A PostgreSQL object id. 0 as a grantee: PUBLIC. */
export type Oid = number

/** Privileges that lead to values. Masking touches no other. */
export type PrivilegeKind = 'SELECT' | 'TRIGGER' | 'REFERENCES' | 'MAINTAIN'

/** One privilege of a role. `{ column: 3, grantee: 0, kind: 'SELECT', grantable: false }`: SELECT (mail) to PUBLIC. */
export interface Privilege {
  /** 0: the whole relation. */
  readonly column: number
  readonly grantee: Oid
  readonly kind: PrivilegeKind
  readonly grantable: boolean
}

/** An entry of an access list. */
export interface Grant extends Privilege {
  readonly grantor: Oid
}

export type RelationKind = 'table' | 'view' | 'materialized view' | 'foreign table'

/** A column of a relation, as far as its mask depends on it. */
export interface Column {
  readonly number: number
  readonly name: string
  /** As declared: `public.email`, `character varying(20)`. */
  readonly type: string
  /** The same without domains: `text`. */
  readonly baseType: string
  /**
   * pg_type.typname of the base type: `varchar`. Empty for a type that a role made; citext is known by its extension.
   */
  readonly baseName: string
  /** pg_type.typtype of the base type: b(ase), c(omposite), e(num), r(ange), m(ultirange). */
  readonly baseKind: string
  readonly isArray: boolean
  /** A domain checks its values. */
  readonly isChecked: boolean
  /** atttypmod, or the domain's. -1: none. */
  readonly modifier: number
  /** Quoted: `pg_catalog."C"`. Null: the type has none. */
  readonly collation: string | null
  /** The first label of an enum; null: it is none. */
  readonly firstLabel: string | null
  /** Of a generated column: the numbers of the columns that it is computed from. */
  readonly computedFrom: readonly number[]
}

/** How the binding changes grants of an owner: by itself, as it owns or inherits; by SET ROLE; or not at all. */
export type Acting = 'directly' | 'as owner' | 'not'

/** A relation of the masked database: a target of a rule, its kin by inheritance, or a view over one of these. */
export interface Relation {
  readonly oid: Oid
  readonly schema: string
  readonly name: string
  readonly kind: RelationKind
  readonly owner: Oid
  readonly ownerName: string
  readonly acting: Acting
  /** The binding may SET ROLE to its owner, which a twin with its definition belongs to. */
  readonly settable: boolean
  /** Of a view: the owner and every role that it is a member of. 10 and pg_read_all_data among these see raw values. */
  readonly ownerRoles: readonly Oid[]
  readonly ownerReadsAll: boolean
  readonly columns: readonly Column[]
  /** Privileges of all roles but the owner. */
  readonly acl: readonly Grant[]
  /**
   * Row policies for named roles: `permissive` ones show nothing through a twin, `restrictive` ones would not bind
   * it.
   */
  readonly rolePolicies: 'none' | 'permissive' | 'restrictive'
  /** Its owner reads past its row policies; the owner of its twin does not. */
  readonly hasRowSecurity: boolean
  /** Tables that its row policies read and its owner may read too. `name` is quoted: `public.teams`. */
  readonly policyReads: readonly { readonly oid: Oid; readonly name: string }[]
  /** Relations that its row policies read, and that a twin would read with other rights than its reader's. Quoted. */
  readonly policyStrangers: readonly string[]
  readonly isSecurityBarrier: boolean
  readonly isSecurityInvoker: boolean
  /** False: a materialized view without rows. */
  readonly isPopulated: boolean
  /** Inheritance parents and partitioned tables. */
  readonly parents: readonly Oid[]
  /** Relations that a view names. */
  readonly reads: readonly Oid[]
  /** Schemas of these. */
  readonly readSchemas: readonly Oid[]
  /** Names the stored rule of a view: `16412/771`. It differs once the view was replaced. Empty for tables. */
  readonly rule: string
}

/** The definition of a view: `SELECT id FROM app.people;`. */
export interface Definition {
  readonly text: string
  /** A function in its list of results returns sets: `SELECT unnest(tags)`. */
  readonly returnsSets: boolean
}

/** What masking recorded about a relation, in the masked database, with the change that it describes. */
export interface MaskRecord {
  readonly oid: Oid
  /** Privileges before masking, with what operators changed since. Restored when masking ends. */
  readonly before: readonly Privilege[]
  /**
   * Privileges as the last turn granted them; operators made the difference to what is there. Null: an earlier
   * release did.
   */
  readonly granted: readonly Privilege[] | null
  readonly pins: readonly Pin[]
  /** The twin; null: it has none. */
  readonly twin: Oid | null
  /** The twin as it is in the database; null: it is not there. */
  readonly made: Relation | null
  /** What the twin was made from (`TwinPlan.basis`). */
  readonly basis: string | null
  /** The stored rule of the twin, as of `Relation.rule`: it differs once a superuser has replaced the twin by hand. */
  readonly rule: string | null
  /** PostgreSQL has refused the twin of this basis within ten minutes. */
  readonly isRefused: boolean
  /** False: the grants on the twin are not those of `before` yet. */
  readonly isOpened: boolean
}

/** A rule holds on to the attribute that it found: a renamed column and a detached partition stay masked. */
export interface Pin {
  readonly schema: string
  readonly table: string
  readonly column: string
  readonly number: number
  /** It is a generated column over the rule's column, here or in a part of the table. */
  readonly computed?: true
}

/** A schema with masked relations, and the schema of their twins. */
export interface Schema {
  readonly name: string
  /** Roles with USAGE, its owner included. 0: PUBLIC. */
  readonly users: readonly Oid[]
  /** The name of the schema of its twins, which is there or to be made: `masked_public`. */
  readonly twins: string
  /** Its users, and roles that may create there or pass USAGE on, and are neither owners of twins nor superusers. */
  readonly shadow: { readonly users: readonly Oid[]; readonly excess: readonly Oid[] } | null
}

/** The role that owns the twins of one owner's tables. */
export interface TwinOwner {
  readonly served: Oid
  readonly role: Oid
  readonly name: string
}

export interface Server {
  readonly version: number
  /** Tells the database from all others: `7361.../16384`, the system identifier and the OID. */
  readonly place: string
  /** The OID of the database. */
  readonly database: Oid
  readonly binding: { readonly oid: Oid; readonly name: string; readonly isSuperuser: boolean }
}

/** Exempt roles. `named`: by an entry of their own. `everybody`: the policy exempts PUBLIC. */
export interface Exempt {
  readonly everybody: boolean
  readonly roles: ReadonlySet<Oid>
  readonly named: ReadonlySet<Oid>
  /** Entries that name no role. */
  readonly unknown: readonly string[]
}

/** The part of a database that a turn looks at, at one moment. */
export interface Snapshot {
  readonly server: Server
  /** The schema of our records, or the one that they are to have. */
  readonly guard: { readonly schema: string; readonly isThere: boolean }
  readonly header: Header | null
  readonly isWatched: boolean
  /** False: only relations around some tables were read. */
  readonly isWhole: boolean
  /** By OID, in the order of OIDs. */
  readonly relations: ReadonlyMap<Oid, Relation>
  /** By the OID of the relation, which may be gone. */
  readonly records: ReadonlyMap<Oid, MaskRecord>
  /** By name. */
  readonly schemas: ReadonlyMap<string, Schema>
  readonly twinOwners: readonly TwinOwner[]
  /** Superusers of those in any access list. */
  readonly superusers: ReadonlySet<Oid>
  /** Names of all roles in any access list above, and of roles that are named as owners of twins: 16411 → `ann`. */
  readonly roleNames: ReadonlyMap<Oid, string>
  /** Default privileges of owners: what they create is granted to these. 10 → { relations: [], schemas: [16411] }. */
  readonly defaults: ReadonlyMap<
    Oid,
    { readonly relations: readonly Oid[]; readonly schemas: readonly Oid[] }
  >
  readonly exempt: Exempt
  /** Exempt roles that are members of a grantee: 16411 (staff) → [16420]. */
  readonly exemptMembers: ReadonlyMap<Oid, readonly Oid[]>
}

/** A masked column: its rule, and whether the mask came by way of another column. */
export type MaskOf = Rule & { readonly isDerived?: true; readonly isComputed?: true }

/** The masks of a relation, by column number. */
export type Masks = ReadonlyMap<number, MaskOf>

/** The header of the records: for whom they were made, and who was exempt. */
export interface Header {
  /** Another text after every change of masks: `16402/17`. Empty: there are no records. */
  readonly version: string
  /** The resource that the masks belong to; null: none has claimed them. */
  readonly owner: string | null
  /** False: this database is a copy of the one that the records were made in. */
  readonly madeHere: boolean
  /** The tables are not those that the records were written in: they came with a dump. */
  readonly isRestored: boolean
  readonly exempt: readonly string[]
  readonly exemptOids: readonly Oid[] | null
  /** Sessions that are to end. */
  readonly open: readonly OpenEntry[]
  /** Roles that may read the records. */
  readonly readers: readonly Oid[]
}

/** `3:16411:SELECT` */
export const keyOf = ({ column, grantee, kind }: Privilege) => `${column}:${grantee}:${kind}`

/** A statement of a turn. `as`: it runs with SET ROLE. */
export interface Statement {
  readonly sql: string
  readonly why: string
  readonly as?: string | undefined
  /** Runs instead where PostgreSQL refuses the statement with this SQLSTATE. */
  readonly otherwise?: { readonly on: string; readonly statements: readonly Statement[] }
}
