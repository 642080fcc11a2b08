import { Type } from 'typebox'
import { ok } from '../../api/operation.ts'
import { fail } from '../../kernel/problem.ts'
import { operationsOn } from '../entities/entity-operations.ts'
import { failValue } from '../entities/read-properties.ts'
import { collectionSchema } from '../entities/schemas.ts'
import { contextOf } from '../entities/show-entity.ts'
import { operation } from '../operation.ts'
import { directoryRole } from './kinds/directory-role.ts'
import { objectPermissions } from './object-permissions.ts'
import { objectSet } from './object-set.ts'
import { findRoleTemplate, roleTemplates } from './role-templates.ts'

const templateSchema = Type.Object(
  {
    '@odata.context': Type.Optional(Type.String({ format: 'uri' })),
    id: Type.String({ format: 'uuid' }),
    displayName: Type.String(),
    description: Type.String(),
    deletedDateTime: Type.Null(),
  },
  { title: 'directoryRoleTemplate' },
)

const listRoleTemplates = operation({
  name: 'listDirectoryRoleTemplates',
  clause: 'DIR-134',
  summary: 'List the directory roles that can be activated',
  method: 'GET',
  path: '/directoryRoleTemplates',
  permission: { row: objectPermissions.directoryRole.read },
  answers: { 200: collectionSchema(templateSchema, 'directoryRoleTemplateCollection') },
  async run({ request }) {
    return ok({
      '@odata.context': contextOf(request.baseUrl, 'directoryRoleTemplates'),
      value: roleTemplates.map((template) => ({ ...template, deletedDateTime: null })),
    })
  },
})

const getRoleTemplate = operation({
  name: 'getDirectoryRoleTemplate',
  clause: 'DIR-134',
  summary: 'Get one directory role that can be activated',
  method: 'GET',
  path: '/directoryRoleTemplates/:id',
  permission: { row: objectPermissions.directoryRole.read },
  answers: { 200: templateSchema },
  async run({ params: { id = '' }, request }) {
    const template = findRoleTemplate(id) ?? fail('ObjectNotFound', { id: id.slice(0, 200) })
    return ok({
      '@odata.context': `${contextOf(request.baseUrl, 'directoryRoleTemplates')}/$entity`,
      ...template,
      deletedDateTime: null,
    })
  },
})

/** Creating a role is activating it: everything else about it comes from its template. */
const directoryRoles = objectSet(directoryRole, {
  creation: {
    name: 'activateDirectoryRole',
    complete: async (_context, { roleTemplateId }) => {
      const template = findRoleTemplate(String(roleTemplateId)) ?? failValue(directoryRole, 'roleTemplateId')
      const { id, displayName, description } = template
      return { roleTemplateId: id, displayName, description }
    },
  },
})

export const directoryRoleOperations = [
  ...operationsOn(directoryRoles, ['list', 'count', 'get', 'create']),
  listRoleTemplates,
  getRoleTemplate,
]
