import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type LogEntry, readNewestEntry } from '../../../db/change-log.ts'
import type { Database, Tx } from '../../../db/database.ts'
import { quoteLiteral } from '../../../db/quote.ts'
import type { ObjectKind } from '../../objects/kinds/resource.ts'
import { Adjacency } from './adjacency.ts'
import { CopyReader } from './copy-reader.ts'
import { type Key, readKey } from './key-table.ts'
import { MembershipIndex } from './membership-index.ts'
import { nameHash, ObjectTable } from './object-table.ts'

export interface LoadedIndex {
  readonly index: MembershipIndex
  /** The log entry of the index's revision, by which the log is known again. */
  readonly entry: LogEntry
}

/** The memory in bytes that an index of so many objects and edges needs; measured by `bench/membership.ts`. */
export function estimateBytes(objects: number, edges: number): number {
  return objects * 80 + edges * 16
}

export async function countMemberships(
  { sql }: Database,
  tenantId: string,
): Promise<{ objects: number; edges: number }> {
  const [counts] = await sql<{ objects: number; edges: number }[]>`
    select (select count(*) from directory_object where tenant_id = ${tenantId}) as objects,
      (select count(*) from member_edge where tenant_id = ${tenantId}) as edges`
  return counts ?? { objects: 0, edges: 0 }
}

/** Reads all objects and edges of a tenant at one snapshot, whose revision the index has. */
export async function loadIndex(database: Database, tenantId: string): Promise<LoadedIndex> {
  return await database.transaction(async (tx) => {
    await tx`set transaction isolation level repeatable read, read only`
    await tx`set local statement_timeout = 0`
    const entry = await readNewestEntry(tx, tenantId)
    const objects = await loadObjects(tx, tenantId)
    const edges = await loadEdges(tx, tenantId, objects)
    const { count, members, containers } = edges
    const up = await Adjacency.build(objects.count, count, members, containers, yieldToOthers)
    const down = await Adjacency.build(objects.count, count, containers, members, yieldToOthers)
    return { entry, index: new MembershipIndex(entry.revision, objects, up, down, count) }
  })
}

async function loadObjects(tx: Tx, tenantId: string): Promise<ObjectTable> {
  const objects = new ObjectTable()
  // Containers first: walks touch these alone, and their numbers then lie near each other in every array.
  await copyObjects(tx, tenantId, "kind in ('group', 'directoryRole')", objects)
  objects.keepTexts()
  await copyObjects(tx, tenantId, "kind not in ('group', 'directoryRole')", objects)
  return objects
}

async function copyObjects(tx: Tx, tenantId: string, condition: string, objects: ObjectTable): Promise<void> {
  const reader = new CopyReader(5, (fields) => {
    const [id, kind, isSecurityEnabled, isDeleted, name] = fields
    objects.put({
      id: readKey(id as Buffer),
      kind: (kind as Buffer).toString() as ObjectKind,
      isSecurityEnabled: (isSecurityEnabled as Buffer)[0] === 1,
      isDeleted: (isDeleted as Buffer)[0] === 1,
      name: name ? readKey(name) : undefined,
    })
  })
  await tx.copyOut(
    `copy (select id, kind, security_enabled, deleted_at is not null, ${nameHash}
      from directory_object where tenant_id = ${quoteLiteral(tenantId)} and ${condition}) to stdout (format binary)`,
    async (chunk) => {
      reader.take(chunk)
      await yieldToOthers()
    },
  )
}

async function loadEdges(
  tx: Tx,
  tenantId: string,
  objects: ObjectTable,
): Promise<{ count: number; members: Int32Array; containers: Int32Array }> {
  let members = new Int32Array(65_536)
  let containers = new Int32Array(65_536)
  let count = 0
  const enlarge = (array: Int32Array) => {
    const larger = new Int32Array(array.length * 2)
    larger.set(array)
    return larger
  }
  const numberOf = (field: Buffer | undefined): number => objects.number(readKey(field as Buffer) as Key)
  const reader = new CopyReader(2, ([member, container]) => {
    if (count === members.length) {
      members = enlarge(members)
      containers = enlarge(containers)
    }
    members[count] = numberOf(member)
    containers[count] = numberOf(container)
    count++
  })
  await tx.copyOut(
    `copy (select member_id, container_id from member_edge where tenant_id = ${quoteLiteral(tenantId)})
      to stdout (format binary)`,
    async (chunk) => {
      reader.take(chunk)
      await yieldToOthers()
    },
  )
  return { count, members, containers }
}
