import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { type LogEntry, readNewestEntry } from '../../../db/change-log.ts'
import type { Database, Tx } from '../../../db/database.ts'
import { quoteLiteral } from '../../../db/quote.ts'
import type { ObjectKind } from '../../objects/kinds/resource.ts'
import { Adjacency } from './adjacency.ts'
import { CopyReader } from './copy-reader.ts'
import { type Key, KeyTable, readKey } from './key-table.ts'
import { MembershipIndex } from './membership-index.ts'
import { nameHash, type ObjectState, ObjectTable } from './object-table.ts'
import { orderByPaths } from './order-by-paths.ts'

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
    const edges = await copyEdges(tx, tenantId, (id) => objects.number(id))
    const { count, members, containers } = edges
    const up = await Adjacency.build(objects.count, count, members, containers, yieldToOthers)
    const down = await Adjacency.build(objects.count, count, containers, members, yieldToOthers)
    return { entry, index: new MembershipIndex(entry.revision, objects, up, down, count) }
  })
}

async function loadObjects(tx: Tx, tenantId: string): Promise<ObjectTable> {
  const objects = new ObjectTable()
  // Containers first: walks touch these alone, and their numbers then lie near each other in every array.
  await loadContainers(tx, tenantId, objects)
  objects.keepTexts()
  await copyObjects(tx, tenantId, `kind not in ${containerKinds}`, (state) => objects.put(state))
  return objects
}

const containerKinds = "('group', 'directoryRole')"

async function loadContainers(tx: Tx, tenantId: string, objects: ObjectTable): Promise<void> {
  const states: ObjectState[] = []
  const numbers = new KeyTable()
  await copyObjects(tx, tenantId, `kind in ${containerKinds}`, (state) => {
    numbers.set(states.push(state) - 1, state.id)
  })
  const { count, members, containers } = await copyEdges(
    tx,
    tenantId,
    (id) => numbers.find(id),
    containerKinds,
  )
  const order = orderByPaths(states.length, members.subarray(0, count), containers.subarray(0, count))
  for (const number of order) objects.put(states[number] as ObjectState)
}

async function copyObjects(
  tx: Tx,
  tenantId: string,
  condition: string,
  take: (state: ObjectState) => void,
): Promise<void> {
  const reader = new CopyReader(5, (fields) => {
    const [id, kind, isSecurityEnabled, isDeleted, name] = fields
    take({
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

/** Edges as numbers; with `kinds`, those whose both ends have a number already and whose members are of these kinds. */
async function copyEdges(
  tx: Tx,
  tenantId: string,
  numberOf: (id: Key) => number,
  kinds?: string,
): Promise<{ count: number; members: Int32Array; containers: Int32Array }> {
  let members = new Int32Array(65_536)
  let containers = new Int32Array(65_536)
  let count = 0
  const enlarge = (array: Int32Array) => {
    const larger = new Int32Array(array.length * 2)
    larger.set(array)
    return larger
  }
  const reader = new CopyReader(2, (fields) => {
    const [member = -1, container = -1] = fields.map((field) => numberOf(readKey(field as Buffer)))
    if (member < 0 || container < 0) return
    if (count === members.length) {
      members = enlarge(members)
      containers = enlarge(containers)
    }
    members[count] = member
    containers[count] = container
    count++
  })
  const ofKinds = kinds
    ? `join directory_object o on o.tenant_id = e.tenant_id and o.id = e.member_id and o.kind in ${kinds}`
    : ''
  await tx.copyOut(
    `copy (select e.member_id, e.container_id from member_edge e ${ofKinds} where e.tenant_id = ${quoteLiteral(tenantId)})
      to stdout (format binary)`,
    async (chunk) => {
      reader.take(chunk)
      await yieldToOthers()
    },
  )
  return { count, members, containers }
}
