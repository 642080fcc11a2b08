import { knownPermissions } from '../../auth/known-permissions.ts'
import type { Fragment, Query } from '../../db/query.ts'
import { permissionId, serviceAppId } from '../applications/api-principal.ts'
import type { Described, Stored } from '../entities/property.ts'
import { namespace } from '../entities/show-entity.ts'
import { fieldsOf } from '../odata/field.ts'
import type { ListSource } from '../odata/list.ts'

const text = { type: 'string' } as const

export const appRoleAssignment: Described = {
  kind: 'appRoleAssignment',
  noun: 'AppRoleAssignment',
  properties: {
    id: text,
    deletedDateTime: { type: 'dateTime' },
    appRoleId: { type: 'guid' },
    createdDateTime: { type: 'dateTime' },
    principalDisplayName: text,
    principalId: { type: 'guid' },
    principalType: text,
    resourceDisplayName: text,
    resourceId: { type: 'guid' },
  },
}

const fields = fieldsOf([appRoleAssignment], { columns: {}, filterAll: true })

/** The ids of the API's own roles by their names, for SQL. */
const permissionIds = Object.fromEntries(
  Object.keys(knownPermissions).map((name) => [name, permissionId(name)]),
)

/** The end of the assignment that a path names. */
export type Side = 'principal' | 'resource'

/** The assignments of one principal, or those to the roles of one resource. */
export function assignmentSource(tx: Query, tenantId: string, side: Side, id: string): ListSource {
  return {
    columns: tx`o.id, 'appRoleAssignment' as kind, o.properties`,
    from: tx`(${selectRoles(tx, tenantId, side, id)} union all ${selectPermissions(tx, tenantId, side, id)}) o`,
    where: tx`true`,
    id: 'o.id',
    fields,
    type: `${namespace}.appRoleAssignment`,
  }
}

/** One assignment by its id. */
export async function findAssignment(
  tx: Query,
  tenantId: string,
  side: Side,
  id: string,
  key: string,
): Promise<Stored | undefined> {
  const { columns, from } = assignmentSource(tx, tenantId, side, id)
  const [row] = await tx<Stored[]>`select ${columns} from ${from} where o.properties ->> 'id' = ${key}`
  return row
}

function selectRoles(tx: Query, tenantId: string, side: Side, id: string): Fragment {
  return tx`
    select granted.id, ${describe(tx, tx`granted.id::text`, tx`granted.app_role_id::text`, tx`granted.created_at`)} as properties
    from app_role_assignment granted
    join directory_object principal on principal.tenant_id = ${tenantId} and principal.id = granted.principal_id
    join directory_object resource on resource.tenant_id = ${tenantId} and resource.id = granted.resource_id
    where granted.tenant_id = ${tenantId} and granted.${tx.unsafe(side === 'principal' ? 'principal_id' : 'resource_id')} = ${id}
      and principal.deleted_at is null and resource.deleted_at is null`
}

/** Permissions of the API, whose ids are made of the principal's and the role's (`joinIds`). */
function selectPermissions(tx: Query, tenantId: string, side: Side, id: string): Fragment {
  const joined = tx`translate(rtrim(encode(decode(replace(principal.id::text || known.id, '-', ''), 'hex'), 'base64'), '='), '+/', '-_')`
  return tx`
    select md5(principal.id::text || known.id)::uuid as id,
      ${describe(tx, joined, tx`known.id`, tx`granted.granted_at`)} as properties
    from application_permission granted
    join jsonb_each_text(${tx.json(permissionIds)}) known (name, id) on known.name = granted.permission
    join directory_object principal on principal.tenant_id = ${tenantId} and principal.id = granted.service_principal_id
    join directory_object resource on resource.tenant_id = ${tenantId} and resource.kind = 'servicePrincipal'
      and resource.app_id = ${serviceAppId} and resource.deleted_at is null
    where granted.tenant_id = ${tenantId} and principal.deleted_at is null
      and ${side === 'principal' ? tx`granted.service_principal_id = ${id}` : tx`resource.id = ${id}`}`
}

function describe(tx: Query, id: Fragment, roleId: Fragment, at: Fragment): Fragment {
  return tx`jsonb_build_object('id', ${id}, 'appRoleId', ${roleId},
    'createdDateTime', to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'principalId', principal.id, 'principalDisplayName', principal.display_name,
    'principalType', upper(left(principal.kind, 1)) || substr(principal.kind, 2),
    'resourceId', resource.id, 'resourceDisplayName', resource.display_name)`
}
