import { type Static, Type } from 'typebox'
import { created, noContent } from '../../api/operation.ts'
import { appendChanges, type Change } from '../../db/change-log.ts'
import { fail } from '../../kernel/problem.ts'
import { isUuid } from '../../kernel/uuid.ts'
import { joinIds, splitIds } from '../applications/joined-id.ts'
import type { WriteContext } from '../entities/entity-write.ts'
import { type ReadOnlySet, readOperationsOn } from '../entities/read-only-set.ts'
import { entitySchema } from '../entities/schemas.ts'
import { contextOf, namespace, showEntity } from '../entities/show-entity.ts'
import { typedObject } from '../entities/type-names.ts'
import { lockReferences } from '../membership/lock-references.ts'
import { roleMembers } from '../membership/relations.ts'
import { addReference, canBeAdded, removeReference } from '../membership/write-relation.ts'
import { type DirectoryObject, describeChange, findObject, insertObject } from '../objects/object-store.ts'
import { findRoleTemplate } from '../objects/role-templates.ts'
import { fieldsOf } from '../odata/field.ts'
import { operation } from '../operation.ts'
import { beforeWrite } from '../write-rules/before-write.ts'

const properties = {
  id: {
    type: 'string',
    derive: ({ properties: { principalId, roleDefinitionId } }) =>
      joinIds(String(principalId), String(roleDefinitionId)),
  },
  principalId: { type: 'guid' },
  roleDefinitionId: { type: 'guid' },
  directoryScopeId: { type: 'string', default: '/' },
  appScopeId: { type: 'string' },
} as const satisfies ReadOnlySet['properties']

const fields = fieldsOf([{ properties }], { columns: {}, filterAll: true })
const path = '/roleManagement/directory/roleAssignments'

/** The principals that hold directory roles directly: the members of the roles. */
export const roleAssignments: ReadOnlySet = {
  kind: 'unifiedRoleAssignment',
  noun: 'UnifiedRoleAssignment',
  properties,
  clause: 'DIR-213',
  one: 'DirectoryRoleAssignment',
  many: 'DirectoryRoleAssignments',
  path,
  set: path.slice(1),
  permission: roleMembers.read,
  source: (tx, tenantId) => ({
    columns: tx`o.id, 'unifiedRoleAssignment' as kind, o.properties`,
    from: tx`(
      select md5(edge.container_id::text || edge.member_id::text)::uuid as id, jsonb_build_object(
        'principalId', edge.member_id, 'roleDefinitionId', role.properties ->> 'roleTemplateId') as properties
      from directory_object role
      join member_edge edge on edge.tenant_id = role.tenant_id and edge.container_id = role.id
      join directory_object principal
        on principal.tenant_id = edge.tenant_id and principal.id = edge.member_id and principal.deleted_at is null
      where role.tenant_id = ${tenantId} and role.kind = 'directoryRole' and role.deleted_at is null
    ) o`,
    where: tx`true`,
    id: 'o.id',
    fields,
    type: `${namespace}.unifiedRoleAssignment`,
  }),
  isKey(tx, key) {
    const [principalId, roleId] = splitIds(key) ?? []
    return principalId && roleId
      ? tx`o.properties @> ${tx.json({ principalId, roleDefinitionId: roleId })}::jsonb`
      : undefined
  },
}

const newAssignment = typedObject(['unifiedRoleAssignment'], {
  principalId: Type.String({ maxLength: 36 }),
  roleDefinitionId: Type.String({ maxLength: 36 }),
  directoryScopeId: Type.Optional(Type.Literal('/')),
})

const createRoleAssignment = operation({
  name: 'createDirectoryRoleAssignment',
  clause: 'DIR-213',
  summary: 'Give a directory role to a user, a service principal or a group that can hold roles',
  method: 'POST',
  path,
  permission: { row: roleMembers.add },
  right: roleMembers.right,
  body: newAssignment,
  answers: { 201: entitySchema(roleAssignments) },
  async run(context) {
    const { tx, caller, body, request } = context
    const { principalId, roleDefinitionId } = readIds(body)
    const [role, activated] = await findOrActivate(context, roleDefinitionId)
    const references = [{ key: principalId, kind: undefined }]
    const { objects } = await lockReferences(tx, caller.tenantId, role.id, references, 'share')
    const principal = objects[0] ?? fail('ObjectNotFound', { id: principalId })
    if (!canBeAdded(roleMembers, principal)) fail('ImpossibleReference', { property: 'principalId' })
    const added = await addReference(context, roleMembers, role, principal)
    if (added.length === 0) fail('ReferenceExistsAlready', { property: 'roleAssignments' })
    await appendChanges(tx, caller.tenantId, [...activated, ...added])
    const stored = {
      id: role.id,
      kind: 'unifiedRoleAssignment',
      properties: { principalId, roleDefinitionId },
    }
    const metadata = `${contextOf(request.baseUrl, roleAssignments.set)}/$entity`
    return created({ '@odata.context': metadata, ...showEntity(roleAssignments, stored) })
  },
})

function readIds({ principalId, roleDefinitionId }: Static<typeof newAssignment>) {
  if (!isUuid(principalId)) return failField('principalId')
  const template = findRoleTemplate(roleDefinitionId) ?? failField('roleDefinitionId')
  return { principalId: principalId.toLowerCase(), roleDefinitionId: template.id }
}

/** The role of a template, which its first assignment activates. */
async function findOrActivate(
  context: WriteContext,
  templateId: string,
): Promise<readonly [DirectoryObject, readonly Change[]]> {
  const { tx, caller, audit } = context
  const [active] = await tx<{ id: string }[]>`
    select id from directory_object
    where tenant_id = ${caller.tenantId} and kind = 'directoryRole' and deleted_at is null
      and properties ->> 'roleTemplateId' = ${templateId}`
  if (active) return [await findObject(tx, caller.tenantId, 'directoryRole', active.id, { lock: true }), []]
  const { displayName, description } = findRoleTemplate(templateId) ?? failField('roleDefinitionId')
  const properties = { roleTemplateId: templateId, displayName, description }
  await beforeWrite(context, {
    verb: 'create',
    kind: 'directoryRole',
    id: undefined,
    before: {},
    changes: properties,
  })
  const role = await insertObject(tx, caller.tenantId, 'directoryRole', properties)
  audit({ action: 'create directoryRole', target: `/directoryRoles/${role.id}`, after: properties })
  return [role, [describeChange('created', role)]]
}

const deleteRoleAssignment = operation({
  name: 'deleteDirectoryRoleAssignment',
  clause: 'DIR-213',
  summary: 'Take a directory role from a principal',
  method: 'DELETE',
  path: `${path}/:key`,
  permission: { row: roleMembers.remove },
  right: roleMembers.right,
  answers: { 204: null },
  async run(context) {
    const {
      tx,
      caller,
      params: { key = '' },
    } = context
    const [principalId, templateId] = splitIds(key) ?? []
    const missing = () => fail('ObjectNotFound', { id: key.slice(0, 200) })
    if (!principalId || !templateId) return missing()
    const roleKey = `roleTemplateId=${templateId}`
    const role = await findObject(tx, caller.tenantId, 'directoryRole', roleKey, { lock: true })
    const removed = await removeReference(context, roleMembers, role, principalId)
    if (removed.length === 0) return missing()
    await appendChanges(tx, caller.tenantId, removed)
    return noContent
  },
})

function failField(property: string): never {
  return fail('InvalidPropertyValue', { property, resource: 'RoleAssignment' }, { target: property })
}

export const roleAssignmentOperations = [
  ...readOperationsOn(roleAssignments),
  createRoleAssignment,
  deleteRoleAssignment,
]
