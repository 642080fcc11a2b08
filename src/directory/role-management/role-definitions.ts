import { isUuid } from '../../kernel/uuid.ts'
import { type ReadOnlySet, readOperationsOn } from '../entities/read-only-set.ts'
import { namespace } from '../entities/show-entity.ts'
import { roleMembers } from '../membership/relations.ts'
import { roleTemplates } from '../objects/role-templates.ts'
import { fieldsOf } from '../odata/field.ts'

const properties = {
  id: { type: 'guid' },
  description: { type: 'string' },
  displayName: { type: 'string', sort: true },
  isBuiltIn: { type: 'boolean', default: true },
  isEnabled: { type: 'boolean', default: true },
  resourceScopes: { type: 'strings', default: ['/'] },
  rolePermissions: { type: 'json', default: [] },
  templateId: { type: 'guid' },
  version: { type: 'string' },
} as const satisfies ReadOnlySet['properties']

const fields = fieldsOf([{ properties }], { columns: {}, filterAll: true })
const definitions = roleTemplates.map((template) => ({ ...template, templateId: template.id }))

/** The directory roles that there are, active or not. */
export const roleDefinitions: ReadOnlySet = {
  kind: 'unifiedRoleDefinition',
  noun: 'UnifiedRoleDefinition',
  properties,
  clause: 'DIR-212',
  one: 'RoleDefinition',
  many: 'RoleDefinitions',
  path: '/roleManagement/directory/roleDefinitions',
  set: 'roleManagement/directory/roleDefinitions',
  permission: roleMembers.read,
  source: (tx) => ({
    columns: tx`o.id, 'unifiedRoleDefinition' as kind, o.properties`,
    from: tx`(
      select (role ->> 'id')::uuid as id, role as properties
      from jsonb_array_elements(${tx.json(definitions)}::jsonb) role
    ) o`,
    where: tx`true`,
    id: 'o.id',
    fields,
    type: `${namespace}.unifiedRoleDefinition`,
  }),
  isKey: (tx, key) => (isUuid(key) ? tx`o.id = ${key}::uuid` : undefined),
}

export const roleDefinitionOperations = readOperationsOn(roleDefinitions)
