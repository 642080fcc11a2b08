import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { notSupported } from '../../auth/permission.ts'
import { collectionSchema } from '../entities/schemas.ts'
import { findObject, findUser } from '../objects/object-store.ts'
import { operation } from '../operation.ts'
import { atLeast } from '../permissions.ts'
import { readCarriedRights } from './carried-rights.ts'

const bearers = [
  { kind: 'group', set: 'groups', noun: 'Group' },
  { kind: 'user', set: 'users', noun: 'User' },
  { kind: 'servicePrincipal', set: 'servicePrincipals', noun: 'ServicePrincipal' },
] as const

const readRights = 'RoleManagement.Read.Directory, Directory.Read.All'
const text = Type.Union([Type.String(), Type.Null()])
const carriedRight = Type.Object(
  { type: Type.String(), name: text, scope: text, through: text },
  { title: 'carriedRight' },
)

export const listCarriedRights = bearers.map(({ kind, set, noun }) =>
  operation({
    name: `listCarriedRightsOf${noun}`,
    clause: 'DIR-158',
    summary: `List the rights that one of ${set} has by roles, mappings and exemptions`,
    method: 'GET',
    path: `/${set}/:id/carriedRights`,
    permission: { row: atLeast(readRights, notSupported, readRights) },
    answers: { 200: collectionSchema(carriedRight, 'carriedRightCollection') },
    async run({ tx, caller: { tenantId }, params: { id = '' }, request, ports }) {
      const object =
        kind === 'user' ? await findUser(tx, tenantId, id) : await findObject(tx, tenantId, kind, id)
      const { userPrincipalName, appId } = object.properties
      const names = [userPrincipalName, appId].filter((name) => typeof name === 'string')
      const bearer = { id: object.id, names, owns: kind === 'user' }
      const value = await readCarriedRights(tx, ports.readGivenRights, tenantId, bearer, {
        access: kind !== 'servicePrincipal',
      })
      return ok({
        '@odata.context': `${request.baseUrl}/$metadata#Collection(vendor.graph.carriedRight)`,
        value,
      })
    },
  }),
)
