import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { mayUseMasking } from '../../auth/role-assignments.ts'
import type { Query } from '../../db/query.ts'
import { fail } from '../../kernel/problem.ts'
import { gatewayNameColumn } from '../binding/gateway-names.ts'
import { operation, ownApiVersion } from '../operation.ts'
import { type DatabasePlace, idOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import { queryAction } from './run-query.ts'

const queryableDatabase = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    properties: Type.Object({
      subscriptionId: Type.String(),
      resourceGroupName: Type.String(),
      serverName: Type.String(),
      databaseRoles: Type.Array(Type.String(), {
        description: 'The roles that the login role of the caller is a member of',
      }),
      gateway: Type.Object({
        host: Type.String(),
        port: Type.Integer(),
        database: Type.String(),
        user: Type.String(),
      }),
    }),
  },
  { title: 'queryableDatabase' },
)

export const listQueryableDatabases = operation({
  name: 'listQueryableDatabases',
  clause: 'MASK-275',
  summary: 'List the databases that the caller may query through the gateway, each with how to log in there',
  method: 'GET',
  path: '/providers/Vendor.Sql/queryableDatabases',
  apiVersions: [ownApiVersion],
  permission: { anyCaller: 'it shows the databases alone in which a role is mapped to the caller' },
  answers: { 200: Type.Object({ value: Type.Array(queryableDatabase) }) },
  errors: [403],

  async run(context) {
    const { tx, tenantId, caller, namespace, ports, request } = siteOf(context)
    const { applicationId: client, objectId } = caller
    if (!mayUseMasking(caller))
      return fail('AuthorizationFailed', { client, objectId, action: queryAction, scope: '/' })
    const kind = caller.kind === 'application' ? 'servicePrincipal' : 'user'
    const user = await ports.findLoginName(tenantId, objectId, kind)
    if (user === undefined) return ok({ value: [] })
    const groups = await ports.principals.groupsOf(tenantId, objectId)
    const host = new URL(request.baseUrl).hostname.replace(/^\[|\]$/g, '')
    const address = { host, port: ports.gatewayPort(), user }
    const value = (await selectMapped(tx, tenantId, [objectId, ...groups])).map(
      ({ gatewayName: database, databaseRoles, ...place }) => {
        const { databaseName: name, ...names } = place
        const gateway = { ...address, database }
        return { id: idOf(place, namespace), name, properties: { ...names, databaseRoles, gateway } }
      },
    )
    return ok({ value })
  },
})

interface Mapped extends DatabasePlace {
  readonly gatewayName: string
  readonly databaseRoles: readonly string[]
}

function selectMapped(tx: Query, tenantId: string, principalIds: readonly string[]): Promise<Mapped[]> {
  return tx<Mapped[]>`
    select subscription_id as "subscriptionId", resource_group as "resourceGroupName", server_name as "serverName",
      name as "databaseName", ${gatewayNameColumn(tx)} as "gatewayName", mapped.roles as "databaseRoles"
    from masked_database
      join lateral (
        select array_agg(distinct database_role order by database_role) as roles from role_mapping
        where database_id = masked_database.id and principal_id = any(${[...principalIds]}::uuid[])
      ) mapped on mapped.roles is not null
    where tenant_id = ${tenantId} and binding is not null
    order by key`
}
