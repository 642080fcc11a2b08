import type { Query } from '../../db/query.ts'
import type { ListSource } from '../odata/list.ts'
import type { MembershipGraph } from './graph.ts'
import type { Relation } from './relations.ts'

type RelationSource = Pick<ListSource, 'from' | 'where'> & { readonly rowId: string }

/**
 * Tables and condition of the objects on the far end of a relation. Direct relations are read off their edges, in the
 * order of an index; transitive ones are asked of the graph.
 */
export async function sourceOfRelation(
  tx: Query,
  graph: MembershipGraph,
  { edge, transitive }: Relation,
  tenantId: string,
  id: string,
): Promise<RelationSource> {
  if (transitive && edge === 'memberOfContainer') {
    const containers = await graph.groupsWithin(tenantId, id)
    const members = tx`
      select distinct member_id from member_edge
      where tenant_id = ${tenantId} and container_id = any(${containers}::uuid[])`
    return {
      from: tx`(${members}) e join directory_object o on o.tenant_id = ${tenantId} and o.id = e.member_id`,
      where: tx`e.member_id <> ${id}`,
      rowId: 'e.member_id',
    }
  }
  if (transitive) {
    const containers = await graph.groupsOf(tenantId, id, { includeRoles: true })
    return {
      from: tx`directory_object o`,
      where: tx`o.tenant_id = ${tenantId} and o.id = any(${containers}::uuid[])`,
      rowId: 'o.id',
    }
  }
  const { table, near, far } = columnsOf[edge]
  return {
    from: tx`${tx(table)} e join directory_object o on o.tenant_id = e.tenant_id and o.id = e.${tx(far)}`,
    where: tx`e.tenant_id = ${tenantId} and e.${tx(near)} = ${id}`,
    rowId: `e.${far}`,
  }
}

export const columnsOf = {
  memberOfContainer: { table: 'member_edge', near: 'container_id', far: 'member_id' },
  containerOfMember: { table: 'member_edge', near: 'member_id', far: 'container_id' },
  ownerOfObject: { table: 'owner_edge', near: 'object_id', far: 'owner_id' },
  managerOfUser: { table: 'manager_edge', near: 'user_id', far: 'manager_id' },
  reportOfManager: { table: 'manager_edge', near: 'manager_id', far: 'user_id' },
  objectOfOwner: { table: 'owner_edge', near: 'owner_id', far: 'object_id' },
} as const
