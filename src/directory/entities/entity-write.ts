import type { Ask, AuditEntry } from '../../api/operation.ts'
import type { Caller } from '../../auth/caller.ts'
import type { Query } from '../../db/query.ts'
import type { DirectoryPorts } from '../operation.ts'
import type { Described, JsonObject, Stored } from './property.ts'

/** The parts of an operation's context that a write needs. */
export interface WriteContext {
  readonly tx: Query
  readonly caller: Caller
  readonly ports: DirectoryPorts
  readonly audit: (entry: AuditEntry) => void
  readonly askAgain: (about: string, ask: Ask) => void
}

/** The directory object that an item, an extension or a definition belongs to. */
export interface Owner extends Stored {
  /** For an extension: the kind of the object's item that has it; undefined: the object itself has it. */
  readonly item?: string
}

/** A write that the caller is about to make. */
export interface EntityWrite {
  /** `add` and `remove` are about references and credentials that the entity holds, such as members or secrets. */
  readonly verb: 'create' | 'update' | 'delete' | 'restore' | 'purge' | 'add' | 'remove'
  /** Such as `user`, `message`, `schemaExtension`, `openExtension`. */
  readonly kind: string
  /** Undefined while the entity is created. */
  readonly id: string | undefined
  readonly owner?: Pick<Owner, 'kind' | 'id' | 'item'>
  /** Stored properties before the write; empty on creation. */
  readonly before: JsonObject
  /** Properties that the write sets, null where it clears one; for `add` and `remove` the list that it changes. */
  readonly changes: JsonObject
}

/** The write of an entity that is stored already. */
export function describeWrite(
  verb: Exclude<EntityWrite['verb'], 'create'>,
  { kind, id, properties: before }: Stored,
  changes: JsonObject = {},
  owner?: Owner,
): EntityWrite {
  return { verb, kind, id, before, changes, ...(owner && { owner }) }
}

/** The part of an audit entry that tells the change: values, or for private contents an array of names. */
export function describeForAudit(
  described: Described,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  sent: JsonObject = {},
): Pick<AuditEntry, 'before' | 'after'> {
  if (!described.isPrivate) return { before, after: after && { ...after, ...nameSecrets(described, sent) } }
  const names = Object.keys({ ...before, ...after })
    .filter((name) => JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]))
    .toSorted()
  return after ? { after: names } : { before: names }
}

/** The secrets that a write set: the entry must show that there is a new password, and never its value. */
function nameSecrets({ properties }: Described, sent: JsonObject): JsonObject {
  const names = Object.keys(sent).filter((name) => properties[name]?.secret)
  return Object.fromEntries(names.map((name) => [name, '(set)']))
}
