import type { Query } from '../../db/query.ts'

/** A person, and the service principal of a client that requires assignments. */
export interface Visit {
  readonly userId: string
  readonly clientId: string
}

/** For each of the visits whether the person has an assignment to the client, directly or through groups at any depth. */
export async function findAssigned(
  sql: Query,
  tenantId: string,
  visits: readonly Visit[],
): Promise<readonly boolean[]> {
  const visit = sql`unnest(${visits.map(({ userId }) => userId)}::uuid[], ${visits.map(({ clientId }) => clientId)}::uuid[])
    with ordinality as visit (user_id, client_id, place)`
  // OFFSET 0 keeps the lookups index scans, as in the membership graph.
  const rows = await sql<{ place: number }[]>`
    with recursive walk (place, id) as (
      select visit.place, visit.user_id from ${visit}
      union
      select walk.place, container.id from walk
      cross join lateral (
        select container_id from member_edge where tenant_id = ${tenantId} and member_id = walk.id offset 0
      ) as edge
      cross join lateral (
        select id from directory_object
        where tenant_id = ${tenantId} and id = edge.container_id and kind = 'group' and deleted_at is null offset 0
      ) as container
    )
    select distinct visit.place::int from ${visit}
    join walk on walk.place = visit.place
    cross join lateral (
      select from app_role_assignment
      where tenant_id = ${tenantId} and principal_id = walk.id and resource_id = visit.client_id limit 1
    ) as granted`.unnamed()
  const places = new Set(rows.map(({ place }) => place))
  return visits.map((_, at) => places.has(at + 1))
}
