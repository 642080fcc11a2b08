import type { Query } from '../../db/query.ts'

/** A person, and the service principal of a client that has assignments. */
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
  return (await findHeldRoles(sql, tenantId, visits)).map((roles) => roles.length > 0)
}

/** For each of the visits the ids of the roles that the person is assigned, in any order; a deleted person has none. */
export async function findHeldRoles(
  sql: Query,
  tenantId: string,
  visits: readonly Visit[],
): Promise<readonly (readonly string[])[]> {
  const visit = sql`unnest(${visits.map(({ userId }) => userId)}::uuid[], ${visits.map(({ clientId }) => clientId)}::uuid[])
    with ordinality as visit (user_id, client_id, place)`
  // OFFSET 0 keeps the lookups index scans, as in the membership graph. TOK-187: behind it the client is compared last, as a store
  // without statistics would rather read all assignments of the client, for each group again.
  const rows = await sql<{ place: number; role_id: string }[]>`
    with recursive walk (place, id) as (
      select visit.place, person.id from ${visit}
      cross join lateral (
        select id from directory_object where tenant_id = ${tenantId} and id = visit.user_id and deleted_at is null offset 0
      ) as person
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
    select distinct visit.place::int, granted.app_role_id as role_id from ${visit}
    join walk on walk.place = visit.place
    cross join lateral (
      select resource_id, app_role_id from app_role_assignment
      where tenant_id = ${tenantId} and principal_id = walk.id offset 0
    ) as granted
    where granted.resource_id = visit.client_id`.unnamed()
  const held = Map.groupBy(rows, ({ place }) => place)
  return visits.map((_, at) => (held.get(at + 1) ?? []).map(({ role_id }) => role_id))
}
