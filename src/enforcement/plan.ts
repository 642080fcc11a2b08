import type { Guard, ObservedTwin, Pin, Relation, Remembered, Snapshot, StrayTwin } from './catalog.ts'
import type { Access } from './grants/access.ts'
import type { TwinOwner } from './twins/choose-twin-owner.ts'
import type { Misplaced } from './twins/misplaced-twins.ts'

/** A message for operators about a rule, a relation or a role. */
export interface Note {
  readonly code:
    | 'ColumnMissing'
    | 'ColumnRenamed'
    | 'CreateRevoked'
    | 'ExemptNameTaken'
    | 'ExemptsNoRole'
    | 'ExemptsNothing'
    | 'FunctionDoesNotFit'
    | 'LoginRole'
    | 'MappedRole'
    | 'Locked'
    | 'NameTaken'
    | 'NoTwin'
    | 'NotClosed'
    | 'NotMasked'
    | 'NotManageable'
    | 'OpenSession'
    | 'StandbyBehind'
    | 'ForeignServer'
    | 'OwnerReads'
    | 'CopyClosed'
    | 'RecordsRestored'
    | 'RowSecurity'
    | 'TwinKept'
  readonly target: string
  readonly message: string
}

/** The state that a relation is to be in while masks are on it. */
export interface DesiredRelation extends Access {
  readonly relation: Relation
  readonly pins: readonly Pin[]
  /** Its twin reads it, and not what it reads. */
  readonly readsItself: boolean
  readonly hidesAll: boolean
  /** Null while the table is suspended, and where there can be none. */
  readonly twin: DesiredTwin | null
  /** A lock of another session hides its definition: its twin can neither be compared nor changed. */
  readonly isHeld: boolean
}

export interface DesiredTwin {
  readonly schema: string
  readonly name: string
  readonly columns: readonly string[]
  readonly select: string
  /** Hashes of the view or the row policies as parsed, that the text is of; null where these use relations alone. */
  readonly source: string | null
  /** An owner of twins where it reads the relation itself; else the owner of the view, so that it sees no more. */
  readonly owner: string
  readonly securityBarrier: boolean
  readonly securityInvoker: boolean
  /** Say of masked columns which rule masks them, by column. */
  readonly comments: ReadonlyMap<string, string>
}

export interface Released {
  readonly guard: Guard
  /** Undefined: it was dropped. */
  readonly relation: Relation | undefined
  readonly remembered: Remembered
}

/** A view in a schema of twins that reads something masked, and is the twin of nothing masked. */
export interface OpenStray extends StrayTwin {
  /** A twin is made in its place, which takes its grants. */
  readonly isReplaced: boolean
}

/** A relation that holds raw values or shows them with the rights of its owner, and that the role of the binding may not close. */
export interface Unclosed {
  readonly relation: Relation
  /** Grantees that are not exempt. Null: PUBLIC. */
  readonly grantees: readonly (string | null)[]
  readonly isOwnerMasked: boolean
  /** Of a view: the relations that hold what it shows. */
  readonly sources: readonly Relation[]
}

export interface Desired {
  /** It owns the schemas of the twins. */
  readonly twinOwner: string
  /** The roles that own twins of tables, that one first; none where nothing is masked. */
  readonly owners: readonly TwinOwner[]
  /** The roles that may create in the schemas of twins. */
  readonly makers: readonly string[]
  /** In an order in which each twin reads only earlier ones. */
  readonly masked: readonly DesiredRelation[]
  /** To be given back as they were. */
  readonly released: readonly Released[]
  /** To be closed to every role. */
  readonly strays: readonly OpenStray[]
  /** Twins of no masked relation, that stayed for objects of others. */
  readonly leftovers: readonly StrayTwin[]
  /** Twins of relations that the binding cannot act for, to be closed to every role. */
  readonly misplaced: readonly Misplaced[]
  /** Not to be closed by the role of the binding. */
  readonly unclosed: readonly Unclosed[]
  /** Every role that is exempt, itself or through another. */
  readonly exempt: readonly string[]
  /** The same for the record, where PUBLIC stands for all roles: a new role does not change it. */
  readonly recordedExempt: readonly string[]
  /** OIDs of the roles that could grant themselves an exempt one. */
  readonly adminOids: readonly number[]
  /** Roles that see raw values and may read the guard: `pg_dump` locks every table that it finds. */
  readonly guardReaders: readonly string[]
  /** Nothing of ours is to be left in the database. */
  readonly empty: boolean
  /** For operators. */
  readonly notes: readonly Note[]
}

/** A change of the grants of a relation. */
export interface GrantChange {
  /** The relation, quoted. */
  readonly on: string
  /** Null: a view in a schema of twins, which no other role renames. */
  readonly oid: number | null
  /** `ALL`: every one. */
  readonly privileges: readonly string[]
  /** By name; undefined: the whole relation. */
  readonly columns?: readonly string[]
  /** Roles that are granted it; null: PUBLIC. Undefined: all roles but the owner lose it. */
  readonly to?: readonly (string | null)[]
  readonly grantable?: boolean
}

/** One statement of a plan, and why it is there. */
export interface Step {
  readonly sql: string
  readonly why: string
  /** The statement for a role that an earlier step created, by the OID of the role: it is known once that step was run. */
  readonly writeFor?: { readonly role: string; readonly write: (oid: number) => string }
  /** The same, for where names in the statement may lead to others by then. */
  readonly change?: GrantChange
  /** Runs as this role: twins are made by their owner, grants of others are given back by those who gave them. */
  readonly as?: string
  /** May fail without harm: this is run instead. */
  readonly orElse?: Step
  /** For operators, when `orElse` was run. */
  readonly note?: Note
  /** Steps of one name after one another are done together or not at all; the rest of the plan goes on. */
  readonly together?: string
  /** The steps to run instead when they fail. */
  readonly otherwise?: readonly Step[]
  /** SQLSTATEs that say nothing about them: another session changed a name meanwhile, and they are tried again in another turn. */
  readonly passing?: readonly string[]
  /** For operators, when they fail. */
  readonly refusal?: Note
}

/** A plan while it is written. */
export interface Plan {
  readonly steps: Step[]
  readonly snapshot: Snapshot
  readonly desired: Desired
  readonly guards: ReadonlyMap<number, Guard>
  readonly twins: ReadonlyMap<string, ObservedTwin>
  /** Views where twins are that no record names, or that of a relation that is given back; by name. */
  readonly strays: ReadonlyMap<string, ObservedTwin>
}
