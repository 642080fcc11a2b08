import type { TSchema } from 'typebox'
import type { RequestFacts } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { Rights } from '../../auth/effective-rights.ts'
import type { Params, Permission } from '../../auth/permission.ts'
import type { Change } from '../../db/change-log.ts'
import type { ExpandItem } from '../odata/expand.ts'
import type { ListSource } from '../odata/list.ts'
import type { Owner, WriteContext } from './entity-write.ts'
import type { Described, Json, JsonObject, Stored } from './property.ts'
import type { Rendering } from './show-entity.ts'

export interface EntityContext extends WriteContext {
  readonly params: Params
  readonly request: RequestFacts
}

/** The collection that a path names, to list. */
export interface Listing {
  /** As `@odata.context` has it: `users`, `users('{id}')/messages`. */
  readonly set: string
  readonly source: ListSource
}

/** The collection that a path names, to create an entity in. */
export interface Collection<Row> {
  /** The directory object that the collection belongs to. */
  readonly owner?: Owner
  insert(properties: JsonObject): Promise<Located<Row>>
}

/** The entity that a path names. */
export interface Located<Row> {
  readonly row: Row
  readonly set: string
  /** The one spelling of its path for links and the audit: `/users/{id}/messages/{id}`. */
  readonly path: string
  readonly owner?: Owner
}

/** Rules for creating an entity beyond its table of properties. */
export interface Creation<Row> {
  /** Name of the operation where it is not `create` and the noun. */
  readonly name?: string
  /** Checked instead of the table. */
  readonly body?: TSchema
  /** Properties of the body that the table does not have. */
  readonly takes?: Readonly<Record<string, TSchema>>
  /** Reads the body instead of the table. */
  read?(context: EntityContext, body: JsonObject, collection: Collection<Row>): Promise<JsonObject>
  /** Refuses properties that the caller may not set, or that do not go together. */
  check?(caller: Caller, sent: JsonObject): void
  /** Adds what the service sets by itself. */
  complete?(context: EntityContext, properties: JsonObject): Promise<JsonObject>
  /** Writes what belongs to the entity and lies elsewhere. */
  also?(context: EntityContext, located: Located<Row>, sent: JsonObject, body: JsonObject): Promise<void>
  /** Relates the entity to others that the body names, and returns the changes for the log. */
  relate?(context: EntityContext, located: Located<Row>, body: JsonObject): Promise<readonly Change[]>
}

/** Rules for updating an entity. */
export interface Update<Row> {
  readonly body?: TSchema
  /** Reads the body instead of the table; the result is what `store` gets. */
  read?(context: EntityContext, located: Located<Row>, body: JsonObject): Promise<JsonObject>
  check?(caller: Caller, changes: JsonObject): void
  /** Stores the changes to a locked entity; null clears a property. */
  store(context: EntityContext, located: Located<Row>, changes: JsonObject): Promise<Row>
  also?(context: EntityContext, located: Located<Row>, changes: JsonObject): Promise<void>
  /** True: the answer is 200 with the entity; false: 204. */
  readonly answersWithEntity: boolean
}

/** A relation that `$expand` asks for, with its nested options. */
export interface RelationExpansion {
  readonly name: string
  readonly select: readonly string[] | undefined
  readonly top: number
}

/** The relations of a set that `$expand` can follow. */
export interface Expandable<Row extends Stored> {
  /** Undefined: there is no such relation. Refuses callers who may not read it. */
  read(caller: Caller, item: ExpandItem): RelationExpansion | undefined
  /** The properties to add to each of the rows. */
  show(
    context: EntityContext,
    rows: readonly Row[],
    expansion: RelationExpansion,
  ): Promise<readonly Record<string, Json>[]>
}

/** As much of a set as it takes to show its entities. */
export type ShownSet<Row extends Stored> = Pick<
  EntitySet<Row>,
  'properties' | 'show' | 'extensionsOn' | 'expandable'
>

/** A set of entities with the same properties, paths and permissions: all that the operations on them need to know. */
export interface EntitySet<Row extends Stored> extends Described {
  readonly clause: string
  /** Describes an entity where the table of properties does not. */
  readonly schema?: TSchema
  /** Ends the names of operations: `getUser`, `listUsers`. */
  readonly one: string
  readonly many: string
  readonly collections: readonly string[]
  readonly instances: readonly string[]
  readonly permissions: Readonly<Record<'read' | 'create' | 'update' | 'delete', Permission>>
  /** The right of the person for each write. */
  readonly rights: Readonly<Record<'create' | 'update' | 'delete', Rights>>
  /** The table that open extensions of these entities refer to; undefined: they have none. */
  readonly extensionsOn?: 'object' | 'item' | undefined
  readonly expandable?: Expandable<Row> | undefined
  /** False: the original has no `$select` here. */
  readonly selectable?: false
  /** Lists take `$search`. */
  readonly searchable?: true
  /** Absent: an operation of its own lists them. */
  openToList?(context: EntityContext): Promise<Listing>
  openToCreate(context: EntityContext): Promise<Collection<Row>>
  /** `write` locks the entity until the transaction ends. */
  find(context: EntityContext, purpose: 'read' | 'write'): Promise<Located<Row>>
  /** Shows a row in another way than its table does. */
  show?(row: Row, rendering: Rendering): Record<string, Json>
  /** The properties that the caller may read; undefined: all. */
  readable?(caller: Caller): ReadonlySet<string> | undefined
  describeChange(kind: 'created' | 'updated' | 'deleted', row: Row): Change
  readonly creation?: Creation<Row>
  /** Absent: there is no operation to update one. */
  readonly update?: Update<Row>
  /** Deletes a locked entity and returns the changes for the log, or refuses. */
  remove(context: EntityContext, located: Located<Row>): Promise<readonly Change[]>
}
