import { createHash } from 'node:crypto'
import type { Change } from '../../db/change-log.ts'
import type { Tx } from '../../db/database.ts'
import type { Query } from '../../db/query.ts'
import { holdRevocations } from '../accounts/standing.ts'
import { resources } from '../objects/kinds/resources.ts'
import { type DirectoryObject, deleteObjects, objectColumns, purgeObjects } from '../objects/object-store.ts'
import { findOwnObjects } from './own-objects.ts'
import type { StageName } from './stage.ts'

/** The objects that the lines of a file named, before lines that change nothing were dropped. */
export interface Spoken {
  readonly kinds: readonly string[]
  readonly lines: Readonly<Record<StageName, number>>
}

/** Tables of everything that the file names, kept for the end: what they lack is to be removed. */
export async function rememberSpoken(tx: Tx, lines: Spoken['lines']): Promise<Spoken> {
  await tx`create temporary table spoken_object on commit drop as select distinct id, kind from import_object`
  for (const name of ['member', 'role_member', 'owner'])
    await tx.unsafe(
      `create temporary table spoken_${name} on commit drop as select distinct container_id, member_id from import_${name}`,
    )
  const kinds = await tx<{ kind: string }[]>`
    select distinct kind from spoken_object where kind <> 'directoryRole' order by kind`
  return { kinds: kinds.map(({ kind }) => kind), lines }
}

/** The removals: objects before memberships and owners, the first by name and the others by count. */
export interface Pruned {
  readonly removed: number
  readonly names: readonly string[]
  readonly unnamed: Readonly<Record<string, number>>
  /** Of the ids of all removals. */
  readonly digest: string
  /** For the log, behind all that locks rows. */
  readonly changes: readonly Change[]
}

interface Removal {
  readonly kind: string
  readonly name: string
  /** Of the object; for a member or owner first that of the object that it is removed from. */
  readonly ids: readonly string[]
}

export const nothingPruned: Pruned = { removed: 0, names: [], unnamed: {}, digest: '', changes: [] }
const mostNames = 100

/**
 * Removes what the file could have named and did not: objects of the kinds that it has, members and owners of the groups
 * and applications that it has where it has any, and holders of directory roles where it has any. The objects that every
 * installation creates stay, with what they hold.
 */
export async function prune(tx: Tx, tenantId: string, { kinds, lines }: Spoken): Promise<Pruned> {
  const own = await findOwnObjects(tx, tenantId)
  const edges = [
    ...(lines.member > 0 ? await pruneEdges(tx, tenantId, 'member', own) : []),
    ...(lines.roleMember > 0 ? await pruneEdges(tx, tenantId, 'role_member', own) : []),
    ...(lines.owner > 0 ? await pruneEdges(tx, tenantId, 'owner', own) : []),
  ]
  const objects = await pruneObjects(tx, tenantId, kinds, own)
  const changes = [...edges.map(({ change }) => change), ...objects.changes]
  // In one order: the operator confirms the names of a trial, and PostgreSQL returns deleted rows in any.
  const removals: Removal[] = [...objects.removals, ...edges.toSorted((a, b) => (a.name < b.name ? -1 : 1))]
  const unnamed: Record<string, number> = {}
  for (const { kind } of removals.slice(mostNames)) unnamed[kind] = (unnamed[kind] ?? 0) + 1
  return {
    removed: removals.length,
    names: removals.slice(0, mostNames).map(({ kind, name }) => `${kind} ${name}`),
    unnamed,
    digest: digestOf(removals),
    changes,
  }
}

/** Equal for the same objects, members and owners: names do not tell two of one name apart, and are shown up to a limit. */
function digestOf(removals: readonly Removal[]): string {
  const lines = removals.map(({ kind, ids }) => [kind, ...ids].join(' ')).sort()
  return createHash('sha256').update(lines.join('\n')).digest('base64')
}

async function pruneEdges(
  tx: Tx,
  tenantId: string,
  name: 'member' | 'role_member' | 'owner',
  own: readonly string[],
): Promise<(Removal & { readonly change: Change })[]> {
  const spoken = tx(`spoken_${name}`)
  const [table, container, member] =
    name === 'owner'
      ? [tx`owner_edge`, tx`edge.object_id`, tx`edge.owner_id`]
      : [tx`member_edge`, tx`edge.container_id`, tx`edge.member_id`]
  const isNamed =
    name === 'role_member'
      ? tx`o.kind = 'directoryRole'`
      : tx`o.kind <> 'directoryRole' and (
          o.id in (select id from spoken_object) or o.id in (select container_id from ${spoken}))`
  const isDoomed = tx`
    edge.tenant_id = ${tenantId} and o.tenant_id = edge.tenant_id and o.id = ${container} and ${isNamed}
    and ${container} <> all(${own}::uuid[]) and ${member} <> all(${own}::uuid[])
    and (${container}, ${member}) not in (select container_id, member_id from ${spoken})`
  // A statement that deletes nothing would still count as a change of the directory.
  const [any] = await tx`select from ${table} edge, directory_object o where ${isDoomed} limit 1`
  if (!any) return []
  // The log is made of the very rows that are deleted: another statement sees other rows, and nodes follow the log.
  const rows = await tx<{ id: string; kind: string; member: string; name: string }[]>`
    delete from ${table} edge using directory_object o where ${isDoomed}
    returning o.id, o.kind, ${member} as member, format('%s of %s',
      (select ${nameOf(tx, 'm')} from directory_object m where m.tenant_id = edge.tenant_id and m.id = ${member}),
      ${nameOf(tx, 'o')}) as name`
  const kind = name === 'owner' ? 'ownerRemoved' : 'memberRemoved'
  return rows.map((row) => ({
    kind: name === 'owner' ? 'owner' : 'member',
    name: row.name,
    ids: [row.id, row.member],
    change: { entity: row.kind, entityId: row.id, kind, data: { id: row.member } },
  }))
}

/** Its userPrincipalName, displayName or id: what an operator knows an object by. */
function nameOf(tx: Tx, alias: string) {
  const o = tx(alias)
  return tx`coalesce(${o}.properties ->> 'userPrincipalName', ${o}.properties ->> 'displayName', ${o}.id::text)`
}

async function pruneObjects(
  tx: Tx,
  tenantId: string,
  kinds: readonly string[],
  own: readonly string[],
): Promise<{ removals: Removal[]; changes: Change[] }> {
  const gone = await selectUnnamed(tx, tenantId, kinds, own)
  const restorable = gone.filter(({ kind }) => resources[kind].restorable)
  await holdRevocations(
    tx,
    tenantId,
    restorable.map(({ id }) => id),
  )
  const changes = [
    ...(await deleteObjects(tx, tenantId, restorable)),
    ...(await purgeObjects(
      tx,
      tenantId,
      gone.filter(({ kind }) => !resources[kind].restorable),
    )),
  ]
  const removals = gone.map(({ id, kind, properties: { userPrincipalName, displayName } }) => ({
    kind,
    name: String(userPrincipalName ?? displayName ?? id),
    ids: [id],
  }))
  return { removals, changes }
}

async function selectUnnamed(
  tx: Query,
  tenantId: string,
  kinds: readonly string[],
  own: readonly string[],
): Promise<DirectoryObject[]> {
  const unnamed = tx`o.tenant_id = ${tenantId} and o.deleted_at is null
    and o.id <> all(${own}::uuid[]) and o.id not in (select id from spoken_object)`
  const gone = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where ${unnamed} and o.kind = any(${[...kinds]}) order by o.id for update`
  const apps = gone.filter(({ kind }) => kind === 'application').map(({ properties }) => properties.appId)
  const others = gone.map(({ id }) => id)
  // A service principal goes with its application, also one that was created before this import had the lock of the application.
  const principals = await tx<DirectoryObject[]>`
    select ${objectColumns(tx)} from directory_object o
    where ${unnamed} and o.kind = 'servicePrincipal' and o.app_id = any(${apps.map(String)}::text[])
      and o.id <> all(${others}::uuid[])
    order by o.id for update`
  return [...gone, ...principals]
}
