import { selectRevision } from '../../db/change-log.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { foldPrincipalName } from '../../kernel/fold-principal-name.ts'
import type { ObjectKind } from '../objects/kinds/resource.ts'
import {
  type GroupChoice,
  listMemberships,
  type MembershipGraph,
  type Memberships,
  type Target,
} from './graph.ts'

/**
 * The membership graph asked of PostgreSQL: every answer is of the newest committed state. Walks are unnamed, planned
 * each time: a plan kept from when the directory was small reads all of it at every step.
 */
export function createSqlGraph(sql: Query): MembershipGraph {
  return {
    membershipsOf: (tenantId, target, choice) => readMemberships(sql, tenantId, target, choice),

    async membershipsAmong(tenantId, target, candidates, choice) {
      const { revision, found, ids } = await readMemberships(sql, tenantId, target, choice)
      const held = new Set(ids)
      return listMemberships(
        revision,
        found,
        candidates.filter((id) => held.has(id)),
      )
    },

    async groupsOf(tenantId, objectId, choice = {}) {
      const { securityEnabledOnly = false, includeRoles = false, limit } = choice
      const rows = await sql<{ id: string }[]>`
        ${walkUp(sql, tenantId, objectId)}
        select id from walk
        where id <> ${objectId}
          ${securityEnabledOnly ? sql`and security_enabled` : sql``}
          ${includeRoles ? sql`` : sql`and kind = 'group'`}
        ${limit === undefined ? sql`` : sql`limit ${limit}`}`.unnamed()
      return rows.map(({ id }) => id)
    },

    async groupsAmong(tenantId, objectId, candidates, { includeRoles = false } = {}) {
      const rows = await sql<{ id: string }[]>`
        ${walkUp(sql, tenantId, objectId)}
        select id from walk
        where id <> ${objectId} and id = any(${candidates as string[]}::uuid[])
          ${includeRoles ? sql`` : sql`and kind = 'group'`}`.unnamed()
      const found = new Set(rows.map(({ id }) => id))
      return candidates.filter((id) => found.has(id))
    },

    async groupsWithin(tenantId, containerId) {
      const rows = await sql<{ id: string }[]>`
        ${walkDown(sql, tenantId, containerId)} select id from walk`.unnamed()
      return rows.map(({ id }) => id)
    },

    async membersOf(tenantId, containerId) {
      const rows = await sql<{ id: string }[]>`
        ${walkDown(sql, tenantId, containerId)}
        select distinct edge.member_id as id from walk
        join member_edge as edge on edge.tenant_id = ${tenantId} and edge.container_id = walk.id
        join directory_object as member on member.tenant_id = ${tenantId} and member.id = edge.member_id
        where edge.member_id <> ${containerId} and member.deleted_at is null`.unnamed()
      return rows.map(({ id }) => id)
    },

    async explain(tenantId, objectId, groupId) {
      const rows = await sql<{ id: string; isGroup: boolean }[]>`
        select id, kind in ('group', 'directoryRole') as "isGroup" from directory_object
        where tenant_id = ${tenantId} and id in (${objectId}, ${groupId}) and deleted_at is null`
      const found = {
        hasObject: rows.some(({ id }) => id === objectId),
        hasGroup: rows.some(({ id, isGroup }) => id === groupId && isGroup),
      }
      if (objectId === groupId) return { ...found, chain: null }
      const edges = await sql<Edge[]>`
        ${walkUp(sql, tenantId, objectId)}
        select edge.member_id as "memberId", edge.container_id as "containerId"
        from (select ${objectId}::uuid as id union select id from walk) as member
        cross join lateral (
          select member_id, container_id from member_edge
          where tenant_id = ${tenantId} and member_id = member.id
          offset 0
        ) as edge
        where edge.container_id in (select id from walk)
        order by edge.container_id, edge.member_id`.unnamed()
      return { ...found, chain: findShortestChain(edges, objectId, groupId) }
    },
  }
}

/** One statement, so that the object, its groups and the revision are of one snapshot. */
async function readMemberships(
  sql: Query,
  tenantId: string,
  { key, isName, kind }: Target,
  { securityEnabledOnly = false, includeRoles = false, limit }: GroupChoice = {},
): Promise<Memberships> {
  const object = sql`
    select id, kind from directory_object
    where tenant_id = ${tenantId} and deleted_at is null
      and ${isName ? sql`kind = 'user' and folded_principal_name = ${foldPrincipalName(key)}` : sql`id = ${key}::uuid`}`
  const [row] = await sql<{ revision: number; id: string | null; kind: ObjectKind | null; ids: string[] }[]>`
    ${walkUp(sql, tenantId, isName ? sql`(select id from (${object}) as object)` : sql`${key}::uuid`)}
    select ${selectRevision(sql, tenantId)} as revision,
      object.id, object.kind,
      array(
        select walk.id from walk
        where walk.id <> object.id
          ${securityEnabledOnly ? sql`and security_enabled` : sql``}
          ${includeRoles ? sql`` : sql`and kind = 'group'`}
        ${limit === undefined ? sql`` : sql`limit ${limit}`}
      ) as ids
    from (select) as always left join (${object}) as object on true`.unnamed()
  if (!row) throw new Error('a question about memberships returned no row')
  const isWanted = row.id !== null && (kind === undefined || kind === row.kind)
  if (!isWanted || row.id === null || row.kind === null) return listMemberships(row.revision, undefined, [])
  return listMemberships(row.revision, { id: row.id, kind: row.kind }, row.ids)
}

/**
 * OFFSET 0 keeps the lookups of edges and objects index scans, one for each step: the planner takes the walk for
 * much longer than it is and would rather hash the whole directory, which is a hundred times slower.
 */
function walkUp(sql: Query, tenantId: string, objectId: string | Fragment) {
  const alive = sql`
    cross join lateral (
      select id, kind, security_enabled from directory_object
      where tenant_id = ${tenantId} and id = edge.container_id and ${isContainer(sql)}
      offset 0
    ) as container`
  return sql`
    with recursive walk (id, kind, security_enabled) as (
      select container.* from member_edge as edge ${alive}
      where edge.tenant_id = ${tenantId} and edge.member_id = ${objectId}
      union
      select container.* from walk
      cross join lateral (
        select container_id from member_edge
        where tenant_id = ${tenantId} and member_id = walk.id
        offset 0
      ) as edge ${alive}
    )`
}

/** Only groups lead further down, so only groups are walked. */
function walkDown(sql: Query, tenantId: string, containerId: string) {
  return sql`
    with recursive walk (id) as (
      select ${containerId}::uuid
      union
      select edge.member_id from walk
      cross join lateral (
        select member_id from member_edge
        where tenant_id = ${tenantId} and container_id = walk.id and exists (
          select from directory_object
          where tenant_id = ${tenantId} and id = member_id and kind = 'group' and ${isContainer(sql)}
          offset 0
        )
        offset 0
      ) as edge
    )`
}

/** The condition of the partial index that a walk reads. */
function isContainer(sql: Query) {
  return sql`kind in ('group', 'directoryRole') and deleted_at is null`
}

interface Edge {
  readonly memberId: string
  readonly containerId: string
}

/** Breadth first, so that the first way found is a shortest one; edges come sorted, so that it is always the same. */
function findShortestChain(edges: readonly Edge[], from: string, to: string): string[] | null {
  const containers = Map.groupBy(edges, (edge) => edge.memberId)
  const cameFrom = new Map<string, string>()
  let frontier = [from]
  while (frontier.length > 0 && !cameFrom.has(to)) {
    const next: string[] = []
    for (const memberId of frontier)
      for (const { containerId } of containers.get(memberId) ?? []) {
        if (containerId === from || cameFrom.has(containerId)) continue
        cameFrom.set(containerId, memberId)
        next.push(containerId)
      }
    frontier = next
  }
  if (!cameFrom.has(to)) return null
  const chain: string[] = []
  for (let at: string | undefined = to; at !== undefined && at !== from; at = cameFrom.get(at))
    chain.unshift(at)
  return chain
}
