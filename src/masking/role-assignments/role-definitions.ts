import { type Static, Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { type MaskingRole, maskingRoles } from '../../auth/masking-roles.ts'
import { fail } from '../../kernel/problem.ts'
import { providerOf } from '../namespace.ts'
import { authorizationApiVersions, operation } from '../operation.ts'
import { scopeOf } from '../place.ts'
import { siteOf } from '../resource.ts'
import { nullableString } from '../schemas.ts'
import { assignableScopes, readScope, roleDefinitions } from './role-assignment.ts'

const clause = 'MASK-184'
const parameter = 'roleDefinitionId'
const listPath = assignableScopes.map((scope) => `${scope}/providers/Vendor.Authorization/roleDefinitions`)
const permission = { action: 'Vendor.Authorization/roleDefinitions/read', scope: scopeOf }
const roles = Object.keys(roleDefinitions) as MaskingRole[]
/** The original's own roles have a time as well; ours are a part of the service. */
const definedOn = '2014-04-01T00:00:00.000Z'

const actions = Type.Array(Type.String())
const roleDefinitionAnswer = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  properties: Type.Object({
    roleName: Type.String(),
    type: Type.Literal('BuiltInRole'),
    description: Type.String(),
    assignableScopes: Type.Array(Type.String()),
    permissions: Type.Array(
      Type.Object({ actions, notActions: actions, dataActions: actions, notDataActions: actions }),
    ),
    createdOn: Type.String(),
    updatedOn: Type.String(),
    createdBy: nullableString,
    updatedBy: nullableString,
  }),
})

export const listRoleDefinitions = operation({
  name: 'listMaskingRoleDefinitions',
  clause,
  summary: 'List the roles that can be assigned, with their actions',
  method: 'GET',
  path: listPath,
  apiVersions: authorizationApiVersions,
  permission,
  query: Type.Object({ $filter: Type.Optional(Type.String()) }),
  answers: { 200: Type.Object({ value: Type.Array(roleDefinitionAnswer) }) },

  async run(context) {
    const { params, namespace } = siteOf(context)
    readScope(params)
    const isWanted = readFilter(context.query.$filter)
    return ok({ value: roles.filter(isWanted).map((role) => renderRoleDefinition(role, namespace)) })
  },
})

export const getRoleDefinition = operation({
  name: 'getMaskingRoleDefinition',
  clause,
  summary: 'Get a role with its actions',
  method: 'GET',
  path: listPath.map((path) => `${path}/:${parameter}`),
  apiVersions: authorizationApiVersions,
  permission,
  answers: { 200: roleDefinitionAnswer },

  async run(context) {
    const { params, namespace } = siteOf(context)
    const { [parameter]: sent = '', ...place } = params
    readScope(place)
    const role = roles.find((one) => roleDefinitions[one] === sent.toLowerCase())
    return ok(
      role
        ? renderRoleDefinition(role, namespace)
        : fail('RoleDefinitionDoesNotExist', { id: sent.slice(0, 100) }),
    )
  },
})

const conditions: readonly [RegExp, (value: string) => (role: MaskingRole) => boolean][] = [
  [/^roleName\s+eq\s+'((?:[^']|'')*)'$/i, (name) => (role) => role.toLowerCase() === name.toLowerCase()],
  [/^type\s+eq\s+'(\w+)'$/i, (type) => () => type.toLowerCase() === 'builtinrole'],
  [/^(atScopeAndBelow|atScope)\(\)$/i, () => () => true],
]

/** The filters of the original: the name of a role, its type, and the scope, at which every role can be assigned. */
function readFilter(filter: string | undefined): (role: MaskingRole) => boolean {
  const tests = (filter ?? 'atScope()').split(/\s+and\s+/i).map((condition) => {
    for (const [form, read] of conditions) {
      const found = form.exec(condition.trim())
      if (found) return read((found[1] ?? '').replaceAll("''", "'"))
    }
    return fail('InvalidQueryOption', {
      option: '$filter',
      reason: "must be made of roleName eq '{name}', type eq '{type}' and atScopeAndBelow()",
    })
  })
  return (role) => tests.every((test) => test(role))
}

function renderRoleDefinition(role: MaskingRole, namespace: string): Static<typeof roleDefinitionAnswer> {
  const authorization = providerOf(namespace, 'Authorization')
  const { description, actions: allowed, exceptActions } = maskingRoles[role]
  const inNamespace = (action: string) =>
    action.replace('Vendor.Sql', namespace).replace('Vendor.Authorization', authorization)
  return {
    id: `/providers/${authorization}/roleDefinitions/${roleDefinitions[role]}`,
    name: roleDefinitions[role],
    type: `${authorization}/roleDefinitions`,
    properties: {
      roleName: role,
      type: 'BuiltInRole',
      description,
      assignableScopes: ['/'],
      permissions: [
        {
          actions: allowed.map(inNamespace),
          notActions: exceptActions.map(inNamespace),
          dataActions: [],
          notDataActions: [],
        },
      ],
      createdOn: definedOn,
      updatedOn: definedOn,
      createdBy: null,
      updatedBy: null,
    },
  }
}
